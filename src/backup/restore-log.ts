/** Restores the records of the log in Postgres. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { createLogTables, logSchema } from '../log/postgres/log-tables.ts';
import { BackupError, type BackupStore } from './backup-store.ts';
import type { Manifest } from './manifest.ts';
import { encodeRecords, readRecords } from './record-packs.ts';

/** Builds a log in this schema. Rejects with BackupError if the set does not hold its records, or they are damaged. */
export async function restoreLog({ partitions }: Manifest, store: BackupStore, pool: pg.Pool, schema: string, signal: AbortSignal): Promise<void> {
  if (partitions.some(({ records }) => records === null)) {
    throw new BackupError('The set does not hold the records of its log, which was in Kafka: name the Kafka with KAFKA_BROKERS.');
  }
  await pool.query(`drop schema if exists ${schema} cascade`);
  await createLogTables(pool, partitions.length);
  await pool.query(`alter schema ${logSchema} rename to ${schema}`);
  const client = await pool.connect();
  try {
    // The commit that puts the log in its place flushes everything written before it.
    await client.query('set synchronous_commit = off');
    for (const [partition, copy] of partitions.entries()) {
      let time = 0;
      for await (const batch of readRecords(store, partition, copy)) {
        signal.throwIfAborted();
        time = batch.at(-1)!.time;
        const stream = client.query(copyFrom(`copy ${schema}.records (partition, log_offset, time, bytes) from stdin (format binary)`));
        await pipeline(Readable.from([encodeRecords(batch)]), stream);
      }
      await client.query(`update ${schema}.heads set next = $2, time = $3 where partition = $1`, [partition, copy.next, time]);
    }
    client.release();
  } catch (error) {
    client.release(true);
    throw error;
  }
}
