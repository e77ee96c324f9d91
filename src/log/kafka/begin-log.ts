/**
 * The start of a log in Kafka: gives a new log its ID, or proves that the log is the one that the read model was built
 * from.
 */
import { randomUUID } from 'node:crypto';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { Database } from '../../storage/database/database.ts';
import { inTransaction } from '../../storage/database/transaction.ts';
import { readProgress, readProgressNow } from '../progress/progress.store.ts';
import { encodeGenesis, proveIdentityTwice, readLogId, WrongLog } from '../identity.ts';
import { allPartitions } from '../partition.ts';
import { whenSettled } from './kafka-client.ts';
import type { KafkaConnection } from './kafka-connection.ts';
import type { KafkaReader } from './kafka-reader.ts';

/**
 * Writes an event with the log's ID to each empty partition. If a partition is empty although the read model was built
 * from it, skips it: it is another log, or one that lost its events.
 */
export async function beginLog(database: Database, connection: KafkaConnection, reader: KafkaReader): Promise<void> {
  const partitions = allPartitions(reader.partitions);
  const findEmpty = async (): Promise<number[]> => {
    const bounds = await whenSettled(() => connection.bounds(partitions));
    return partitions.filter((partition) => bounds.get(partition)!.end === 0n);
  };
  if ((await findEmpty()).length === 0) return;
  await inTransaction(database.pool, async (client) => {
    // Without the lock, two processes that start at once could give the log two IDs.
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.nameLog]);
    const { progress: remembered } = await readProgressNow(client);
    const empty = await findEmpty();
    const unnamed = empty.filter((partition) => remembered[partition]!.logId === null);
    if (unnamed.length === 0) return;
    const named = partitions.find((partition) => !empty.includes(partition));
    const logId = named === undefined ? randomUUID() : await readLogId(reader, named);
    for (const partition of unnamed) await connection.send(partition, [encodeGenesis(logId)]);
  });
}

/** The partitions whose log is not the one that the read model was built from, with the reasons. */
export async function findWrongPartitions(database: Database, reader: KafkaReader): Promise<Map<number, WrongLog>> {
  const wrong = new Map<number, WrongLog>();
  for (const [partition, remembered] of (await readProgress(database.pool)).entries()) {
    try {
      await proveIdentityTwice(reader, partition, remembered);
    } catch (error) {
      if (!(error instanceof WrongLog)) throw error;
      wrong.set(partition, error);
    }
  }
  return wrong;
}
