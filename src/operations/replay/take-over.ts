/**
 * Puts a rebuilt read model in the place of the one that serves. This takes one transaction, during which nothing else
 * is stored. The transaction voids the fencing tokens of all processes that have opened the old read model
 * (docs/decisions/0037).
 */
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { allowNewEpochs, keepClosedToKafka } from '../../log/progress/closed.store.ts';
import { selectVersions } from '../../log/progress/progress.store.ts';
import { ReadModelInUse } from '../../log/read-model-use.ts';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { RecordLog } from '../../log/event-log.ts';
import { confirmDelay } from '../../log/identity.ts';
import { resumeLog } from '../../log/resume.ts';
import { pause } from '../../storage/pause.ts';
import { endsOfLog, type Rebuild } from './rebuild.ts';

/**
 * How long to wait for an autovacuum to end, in milliseconds. Postgres cancels an autovacuum that blocks a lock, but
 * only after `deadlock_timeout`, 1 second by default.
 */
const vacuumMs = 5000;

/** The `deadlock_timeout` to set if the role may set it, as superusers may, in milliseconds. */
const vacuumMsIfAllowed = 10;

/**
 * `lockMs` limits the wait for the lock, because all other requests for the lock queue behind it. `lockedMs` limits the
 * work under the lock: after it Postgres rolls back and the service continues. In milliseconds.
 */
const lockMs = 300;
const lockedMs = 10_000;

/**
 * How often to try for the lock, and the pause between attempts in milliseconds. A backup or a verification may hold
 * the read model for long.
 */
const attemptsMax = 60;
const attemptPause = 2000;

/** SQLSTATEs: no lock within `lock_timeout`, or a deadlock. */
const lockNotHad = new Set(['55P03', '40P01']);

interface TakeOverOptions {
  readonly url: string;
  readonly log: RecordLog;
  /** The Postgres schema to take over, and the one of the rebuilt read model. */
  readonly schema: string;
  readonly rebuilt: string;
  readonly signal: AbortSignal;
}

/**
 * Projects all acknowledged events into the rebuilt read model, and gives it the name of the old one. Before that
 * commit nothing changes. If the log has lost events that the old read model has, resumes the log, so that their
 * versions are not given out again. Resolves to the partitions that lost events. Rejects as `Rebuild.bringTo` does, and
 * with ReadModelInUse if a transaction holds the old one for minutes.
 */
export async function takeOverReadModel(rebuilding: Rebuild, options: TakeOverOptions): Promise<number[]> {
  const maintenance = await connect(options.url);
  try {
    // Stop maintenance: its rounds span several transactions, and keep local keys between them.
    await maintenance.query('select pg_advisory_lock($1, hashtext($2))', [advisoryLocks.maintenance, options.schema]);
    return await takeOverWithoutMaintenance(rebuilding, options);
  } finally {
    await maintenance.end();
  }
}

async function takeOverWithoutMaintenance(rebuilding: Rebuild, options: TakeOverOptions): Promise<number[]> {
  for (let attempt = 1; ; attempt += 1) {
    await rebuilding.approachEnd();
    try {
      return await lockAndSwap(rebuilding, options);
    } catch (error) {
      if (!lockNotHad.has(String((error as { code?: unknown }).code))) throw error;
      if (attempt === attemptsMax) {
        throw new ReadModelInUse(
          'another transaction, for example of a backup or of `tablog verify`, holds the read model: end it, then replay again; the replay continues from here',
          { cause: error },
        );
      }
    }
    await pause(attemptPause, options.signal);
  }
}

async function lockAndSwap(rebuilding: Rebuild, { url, schema, rebuilt, log }: TakeOverOptions): Promise<number[]> {
  const client = await connect(url);
  try {
    // The rebuild's commits did not wait for the disk. This one does, and flushes everything written before it.
    await client.query(
      `begin; set local synchronous_commit = on; set local idle_in_transaction_session_timeout = ${lockedMs}`,
    );
    const lost = await bringToAcknowledged(client, rebuilding, { log, schema, rebuilt });
    await client.query(`alter schema ${rebuilt} rename to ${schema}`);
    await client.query('commit');
    return lost;
  } finally {
    await client.end();
  }
}

/** Drops the read model in this schema table by table, so that each transaction is short. */
export async function dropInSteps(url: string, schema: string): Promise<void> {
  const client = await connect(url);
  try {
    const { rows } = await client.query<{ name: string }>(
      'select tablename as name from pg_tables where schemaname = $1',
      [schema],
    );
    for (const { name } of rows) await client.query(`drop table if exists ${schema}.${name} cascade`);
    await client.query(`drop schema if exists ${schema} cascade`);
  } finally {
    await client.end();
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'tablog replay',
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  });
  // If the connection breaks, the query that runs on it fails, or the next one does.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(
    `select set_config('deadlock_timeout', '${vacuumMsIfAllowed}', false) where has_parameter_privilege('deadlock_timeout', 'set')`,
  );
  return client;
}

/**
 * Locks the old read model, if there is one, and brings the rebuilt one up to the same events. Resolves to the
 * partitions whose log lost events.
 */
async function bringToAcknowledged(
  client: pg.Client,
  rebuilding: Rebuild,
  { log, schema, rebuilt }: Pick<TakeOverOptions, 'log' | 'schema' | 'rebuilt'>,
): Promise<number[]> {
  const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [schema]);
  if (rowCount === 0) return [];
  // Lock every table. Otherwise a transaction that has read the old read model could continue in the new one, where the
  // local keys differ.
  const { rows: tables } = await client.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = $1',
    [schema],
  );
  const lockAll = `lock table ${tables.map(({ name }) => `${schema}.${name}`).join(', ')}`;
  // First wait only for vacuums: this lock does not block readers and writers.
  await client.query(`set local lock_timeout = ${vacuumMs}; ${lockAll} in share update exclusive mode`);
  await client.query(`set local lock_timeout = ${lockMs}; ${lockAll} in access exclusive mode`);
  const before = await selectVersions(client, schema);
  await rebuilding.bringTo(
    new Map(
      Array.from(await confirmedEnds(log, before), ([partition, end]) => [
        partition,
        rebuilding.endWithin(partition, before[partition]!.next, end),
      ]),
    ),
  );
  const after = await selectVersions(client, rebuilt);
  // Compare versions, too: a log that lost events may have got other events in their place since.
  const lost = before.flatMap(({ version, contradicted }, partition) =>
    contradicted || version > after[partition]!.version ? [partition] : [],
  );
  // Resume the log before the swap: if that fails, the next replay does it again.
  const highest = before.map(({ version }, partition) =>
    version > after[partition]!.version ? version : after[partition]!.version,
  );
  if (lost.length > 0) await resumeLog(log, highest);
  // Void all epochs: the new read model gets one that no process has, and so does the old one.
  await client.query(`update ${rebuilt}.progress rebuilt
  set epoch = old.epoch + 1 + floor(random() * ${2 ** 40})::int8, caught_up = old.caught_up
    from ${schema}.progress old where old.partition = rebuilt.partition`);
  await keepClosedToKafka(client, schema, rebuilt);
  await client.query(allowNewEpochs);
  await client.query(
    `update ${schema}.progress old set epoch = rebuilt.epoch from ${rebuilt}.progress rebuilt where old.partition = rebuilt.partition`,
  );
  await client.query(`alter schema ${schema} rename to ${replacedName(schema)}`);
  return lost;
}

/**
 * The ends of the log. If a partition ends before its projected events, the answer may come from a deposed leader. Then
 * this function waits, confirms the leader with a second broker, and asks again.
 */
async function confirmedEnds(
  log: RecordLog,
  projected: readonly { readonly next: bigint }[],
): Promise<Map<number, bigint>> {
  const ends = await endsOfLog(log);
  const early = projected.flatMap(({ next }, partition) => (ends.get(partition)! < next ? [partition] : []));
  if (early.length === 0) return ends;
  await sleep(confirmDelay);
  await Promise.all(early.map((partition) => log.confirmLeader(partition)));
  return endsOfLog(log);
}

/** The name of the schema of a replaced read model, until it is removed. */
export function replacedName(schema: string): string {
  return `${schema}_replaced`;
}
