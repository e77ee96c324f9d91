/**
 * A rebuilt read model takes the place of the one that serves, while that serves: in one transaction, during which
 * nothing is stored, and which voids the fencing tokens of all who have opened the old one (docs/decisions/0037).
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
import { endsOf, type Rebuild } from './rebuild.ts';

/**
 * How long to wait until an autovacuum has ended: Postgres cancels one that somebody waits for, but only after
 * `deadlock_timeout`, 1 second by default.
 */
const vacuumMs = 5000;

/** The `deadlock_timeout` of roles that may set it, as superusers may. In milliseconds. */
const vacuumMsIfAllowed = 10;

/**
 * How long to wait for the lock, behind which all others wait, and for the last events under it, in milliseconds. Past
 * the latter, Postgres rolls back, and the service goes on.
 */
const lockMs = 300;
const lockedMs = 10_000;

/**
 * How often the lock is tried: a backup or a verification may hold the read model for long. In between, a pause in
 * milliseconds.
 */
const attemptsMax = 60;
const attemptPause = 2000;

/** The SQLSTATEs of a lock that could not be had in time, or at all. */
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
 * Brings the rebuilt read model to all that was acknowledged, and gives it the name of the old one. Until that is
 * committed, nothing has changed. If the log has lost events that the old one has, resumes the log, so that their
 * versions are not given out again; resolves to these partitions. Rejects as `Rebuild.bringTo` does, and with
 * ReadModelInUse if a transaction holds the old one for minutes.
 */
export async function takeOver(rebuilding: Rebuild, options: TakeOverOptions): Promise<number[]> {
  const maintenance = await connect(options.url);
  try {
    // Its rounds go through several transactions, and keep local keys in between.
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
          'a transaction, as of a backup or of `tablog verify`, holds the read model; end it and replay again: that goes on from here',
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
    // The rebuild did not wait for the disk. This commit does, and flushes everything written before it.
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

/** Removes the read model in this schema, table by table, so that each step is short. */
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
  // A broken connection fails the query that runs on it, or the next one.
  client.on('error', () => undefined);
  await client.connect();
  await client.query(
    `select set_config('deadlock_timeout', '${vacuumMsIfAllowed}', false) where has_parameter_privilege('deadlock_timeout', 'set')`,
  );
  return client;
}

/** Stops all who store in the old read model, if there is one, and brings the rebuilt one to where that is. */
async function bringToAcknowledged(
  client: pg.Client,
  rebuilding: Rebuild,
  { log, schema, rebuilt }: Pick<TakeOverOptions, 'log' | 'schema' | 'rebuilt'>,
): Promise<number[]> {
  const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [schema]);
  if (rowCount === 0) return [];
  // Every table, so that no transaction is open that has read one and goes on in the new read model, where its local
  // keys are others.
  const { rows: tables } = await client.query<{ name: string }>(
    'select tablename as name from pg_tables where schemaname = $1',
    [schema],
  );
  const lockAll = `lock table ${tables.map(({ name }) => `${schema}.${name}`).join(', ')}`;
  // First against vacuums alone: nobody who reads or writes waits behind this.
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
  // A log that lost events may have got others in their place since.
  const lost = before.flatMap(({ version, contradicted }, partition) =>
    contradicted || version > after[partition]!.version ? [partition] : [],
  );
  // Before the swap: if this fails, the next replay does it again.
  const highest = before.map(({ version }, partition) =>
    version > after[partition]!.version ? version : after[partition]!.version,
  );
  if (lost.length > 0) await resumeLog(log, highest);
  // Voids all epochs: that of the new one is none that anybody has, and the old one has another than its owners.
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
 * The ends of the log. Where it ends before what is projected, a leader that was deposed may have told so: such an end
 * is asked for again after a while, of the leader that a second broker confirms.
 */
async function confirmedEnds(
  log: RecordLog,
  projected: readonly { readonly next: bigint }[],
): Promise<Map<number, bigint>> {
  const ends = await endsOf(log);
  const early = projected.flatMap(({ next }, partition) => (ends.get(partition)! < next ? [partition] : []));
  if (early.length === 0) return ends;
  await sleep(confirmDelay);
  await Promise.all(early.map((partition) => log.confirmLeader(partition)));
  return endsOf(log);
}

/** What a read model is named that was replaced, until it is removed. */
export function replacedName(schema: string): string {
  return `${schema}_replaced`;
}
