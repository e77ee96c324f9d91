/** The start of a log in Postgres: gives a new log its ID, and resumes one whose last commits Postgres may have lost. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import type { Logger } from 'pino';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { Database } from '../../storage/database/database.ts';
import { inTransaction } from '../../storage/database/transaction.ts';
import { encodeGenesis, readLogId } from '../identity.ts';
import { readProgressNow } from '../progress/progress.store.ts';
import { resumeLog } from '../resume.ts';
import { appendRecord } from './append-record.ts';
import { logSchema, noteHistory, selectHistory } from './log-tables.ts';
import { readRecords } from './postgres-reader.ts';

/**
 * At the first start of a log, writes an event to each partition that names the log. A lock makes sure that only one
 * process does. Resolves to the time of the server, in milliseconds since 1970.
 */
export async function nameLog(pool: pg.Pool): Promise<number> {
  return inTransaction(pool, async (client) => {
    const { rows } = await client.query(
      `select partition, next, (extract(epoch from clock_timestamp()) * 1000)::int8 as time
       from ${logSchema}.heads order by partition for update`,
    );
    const empty = rows.filter((head) => head.next === '0');
    const logId =
      empty.length === rows.length
        ? randomUUID()
        : await readLogId({ read: (partition, from, to) => readRecords(client, partition, from, to) }, 0);
    for (const { partition } of empty) await appendRecord(client, partition, encodeGenesis(logId));
    return Number(rows[0].time);
  });
}

/**
 * Where Postgres goes on from another history than the log was last written in, its last commits may be gone: resumes
 * the log. A log without a noted history is from a version that did not note it. To be called when the read model is
 * at the end of the log, except for partitions that have halted.
 */
export async function resumeInNewHistory({ pool, writers, history }: Database, logger: Logger): Promise<void> {
  // A connection that writes has checked the history.
  await writers.with(async () => undefined);
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.resumeLog]);
    const {
      rows: [noted],
    } = await client.query<{ name: string }>(selectHistory);
    if (noted?.name === history.known) return;
    if (noted !== undefined) {
      logger.warn(
        { from: noted.name, to: history.known },
        'Postgres goes on from another history: the versions of all partitions rise above those that may be lost',
      );
      await resumeWithin(
        client,
        (await readProgressNow(client)).progress.map(({ base, next }) => base + next),
      );
    }
    await client.query(noteHistory, [history.known]);
  });
}

/** Resumes the log in the transaction of the client; `versions`: as `resumeLog` takes them. */
export async function resumeWithin(client: pg.ClientBase, versions: readonly bigint[]): Promise<void> {
  await resumeLog({ appendRecord: (partition, bytes) => appendRecord(client, partition, bytes) }, versions);
}
