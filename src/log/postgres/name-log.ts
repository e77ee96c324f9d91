/** The start of a log in Postgres: gives a new log its ID. Resumes a log if Postgres may have lost its last commits. */
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
 * At the first start of a log, writes an event that names the log to each partition. A lock ensures that only one
 * process does so. Resolves to the time of the server, in milliseconds since 1970.
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
 * If Postgres now has another history than the one in which the log was last written, the log's last commits may be
 * lost. Then resumes the log. If no history was recorded, an earlier version wrote the log. Call this when the read
 * model is at the end of the log, except for halted partitions.
 */
export async function resumeInNewHistory({ pool, writers, history }: Database, logger: Logger): Promise<void> {
  // A connection checks the history before it writes.
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

/** Resumes the log in the transaction of the client. `versions` as in `resumeLog`. */
export async function resumeWithin(client: pg.ClientBase, versions: readonly bigint[]): Promise<void> {
  await resumeLog({ appendRecord: (partition, bytes) => appendRecord(client, partition, bytes) }, versions);
}
