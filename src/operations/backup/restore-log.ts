/** Restores the records of the log, in Postgres or in Kafka. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { decodeEvent } from '../../language/events/event-codec.ts';
import { copyPartition, proveCopied } from '../../log/copy-log.ts';
import type { LogReader, RecordLog } from '../../log/event-log.ts';
import { proveIdentity } from '../../log/identity.ts';
import { createLogTables, logSchema } from '../../log/postgres/log-tables.ts';
import { withConnection } from '../../storage/database/one-connection.ts';
import { BackupError, type BackupStore, type OnProgress } from './backup-store.ts';
import type { Manifest, PartitionBackup } from './manifest.ts';
import { encodeRecords, readPackedRecords } from './record-packs.ts';

interface LogRestore {
  readonly store: BackupStore;
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

/**
 * Builds a log in Postgres, in this schema. Rejects with BackupError if the set has no records, or if they are damaged.
 */
export async function restoreLog(
  { partitions }: Manifest,
  { store, signal, onProgress }: LogRestore,
  pool: pg.Pool,
  schema: string,
): Promise<void> {
  if (partitions.some(({ records }) => records === null)) {
    throw new BackupError(
      'The set was taken without the records of its log (--no-log): set KAFKA_BROKERS to the Kafka that has them.',
    );
  }
  await pool.query(`drop schema if exists ${schema} cascade`);
  await createLogTables(pool, partitions.length);
  await pool.query(`alter schema ${logSchema} rename to ${schema}`);
  await withConnection(pool, async (client) => {
    // No need to wait for the disk: the commit that puts the log in its place flushes everything written before it.
    await client.query('set synchronous_commit = off');
    const onRestored = counted(partitions, onProgress);
    for (const [partition, copy] of partitions.entries()) {
      let time = 0;
      for await (const batch of readPackedRecords(store, partition, copy)) {
        signal.throwIfAborted();
        time = batch.at(-1)!.time;
        const stream = client.query(
          copyFrom(`copy ${schema}.records (partition, log_offset, time, bytes) from stdin (format binary)`),
        );
        await pipeline(Readable.from([encodeRecords(batch)]), stream);
        onRestored(batch.length);
      }
      await client.query(`update ${schema}.heads set next = $2, time = $3 where partition = $1`, [
        partition,
        copy.next,
        time,
      ]);
    }
  });
}

/** The end of a partition of a restored log. */
export interface RestoredEnd {
  /** The next offset. */
  readonly offset: bigint;
  /** The version of the next event. It is above the versions of all events in the partition. */
  readonly version: bigint;
}

/** The ends of the partitions of a set. */
export function endsOfBackup({ partitions }: Manifest): RestoredEnd[] {
  return partitions.map(({ next, base }) => ({ offset: BigInt(next), version: BigInt(base) + BigInt(next) }));
}

/**
 * Appends to a log in Kafka the records of the set that its partitions lack; after an interruption it continues.
 * Records that Kafka has beyond the set stay. Resolves to the ends of all partitions. Rejects with BackupError if the
 * set lacks records that Kafka lacks too, or if they are damaged, and with WrongLog if Kafka has other records.
 */
export async function completeLog(
  { partitions }: Manifest,
  { store, signal, onProgress }: LogRestore,
  log: RecordLog,
): Promise<RestoredEnd[]> {
  const ends: RestoredEnd[] = [];
  const onRestored = counted(partitions, onProgress);
  for (const [partition, copy] of partitions.entries()) {
    const next = BigInt(copy.next);
    const { end } = await log.bounds(partition);
    if (end < next) {
      if (copy.records === null) {
        throw new BackupError(
          `Partition ${partition} of the log in Kafka ends at ${end}, but the set needs its records up to ${next} and was taken without records (--no-log): restore the log in Kafka first.`,
        );
      }
      const source = readerOf(store, partition, copy);
      const from = await proveCopied(source, log, partition, next, signal);
      onRestored(Number(from.offset));
      await copyPartition({ source, target: log, partition, from, to: next, signal, onCopied: onRestored });
    } else {
      onRestored(Number(next));
    }
    await proveIdentity(log, partition, {
      next,
      logId: copy.logId,
      lastHash: copy.lastHash === null ? null : Buffer.from(copy.lastHash, 'hex'),
    });
    const { end: offset } = await log.bounds(partition);
    ends.push({ offset, version: (await baseAt(log, partition, BigInt(copy.base), next, offset, signal)) + offset });
  }
  return ends;
}

/**
 * The base of a partition at `to`: `base`, which is the one at `from`, unless a LogResumed record between raises it.
 */
async function baseAt(
  log: RecordLog,
  partition: number,
  base: bigint,
  from: bigint,
  to: bigint,
  signal: AbortSignal,
): Promise<bigint> {
  let raised = base;
  for await (const batch of log.read(partition, from, to)) {
    signal.throwIfAborted();
    for (const { bytes } of batch) {
      const { data } = decodeEvent(bytes);
      if (data.type === 'LogResumed' && data.base > raised) raised = data.base;
    }
  }
  return raised;
}

/** Returns a function to call with each number of restored records. It reports the sum so far. */
function counted(partitions: Manifest['partitions'], onProgress: OnProgress): (records: number) => void {
  const of = partitions.reduce((sum, { next }) => sum + Number(next), 0);
  let done = 0;
  return (records) => {
    done += records;
    onProgress('records of the log', done, of);
  };
}

/** Reads the records of a partition from the set. */
function readerOf(store: BackupStore, partition: number, copy: PartitionBackup): Pick<LogReader, 'read' | 'bounds'> {
  return {
    bounds: async () => ({ start: 0n, end: BigInt(copy.next) }),
    async *read(_, from, to) {
      for await (const batch of readPackedRecords(store, partition, copy, from)) {
        const wanted = batch.filter(({ offset }) => offset >= from && offset < to);
        if (wanted.length > 0) yield wanted;
        if (batch.at(-1)!.offset >= to) return;
      }
    },
  };
}
