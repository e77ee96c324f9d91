/** The connections of a process to a log in Kafka, and the state of the log when they were opened. */
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
 * Connects to a topic that exists. Begins the log unless it has begun. Rejects if Kafka or Postgres cannot be reached.
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
 * Asks a second broker, if there is one, to confirm the leaders. A deposed leader that does not know it yet returns an
 * old end of the log. If the read model has also lost commits, this process would take it for caught up, and would
 * serve it without later acknowledged writes.
 */
async function confirmLeaders(connection: KafkaConnection, partitions: number): Promise<void> {
  // If no second broker can be asked or confirms the leaders, the process starts with the known ones.
  await Promise.allSettled(allPartitions(partitions).map((partition) => connection.findLeaderAnew(partition)));
}
