/** The connections of a process to a log in Kafka, and what the log held when they were opened. */
import type { Database } from '../../storage/database/database.ts';
import type { WrongLog } from '../identity.ts';
import type { KafkaConnection } from './kafka-connection.ts';
import { KafkaReader } from './kafka-reader.ts';
import { allPartitions } from '../partition.ts';
import { beginLog, findWrongPartitions } from './begin-log.ts';

export interface Connections {
  readonly connection: KafkaConnection;
  readonly reader: KafkaReader;
  /** The end of each partition. */
  readonly ends: readonly bigint[];
  /** The partitions that contradict the read model. */
  readonly wrong: ReadonlyMap<number, WrongLog>;
  close(): Promise<void>;
}

/**
 * Connects to a topic that exists. Begins the log unless it has begun. Rejects when Kafka or Postgres cannot be
 * reached.
 */
export async function openConnections(
  connect: () => Promise<KafkaConnection>,
  database: Database,
  partitions: number,
): Promise<Connections> {
  const connection = await connect();
  let reader: KafkaReader | undefined;
  const close = async (): Promise<void> => {
    await Promise.all([connection.close(), reader?.close()]);
  };
  try {
    reader = new KafkaReader(await connect(), partitions);
    await beginLog(database, connection, reader);
    const wrong = await findWrongPartitions(database, reader);
    await confirmLeaders(connection, partitions);
    const bounds = await connection.bounds(allPartitions(partitions));
    const ends = allPartitions(partitions).map((partition) => bounds.get(partition)!.end);
    return { connection, reader, ends, wrong, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/**
 * Has a second broker confirm who leads, if one can be asked: a leader that was deposed, and does not know it yet,
 * tells where the log ended then. A read model that has lost commits would be taken for caught up there, and served
 * without what was acknowledged since.
 */
async function confirmLeaders(connection: KafkaConnection, partitions: number): Promise<void> {
  // Where no second broker confirms it, or none can be asked, the process starts with what is known.
  await Promise.allSettled(allPartitions(partitions).map((partition) => connection.findLeaderAnew(partition)));
}
