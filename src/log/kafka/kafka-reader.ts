/** The records of a log in Kafka, from any offset: for replay, for proofs of identity, and to resume the log. */
import pRetry, { AbortError } from 'p-retry';
import type { Logger } from 'pino';
import type { LogRecord, PartitionBounds, RecordLog } from '../event-log.ts';
import { OtherLeader, WrongLog, type LedLog } from '../identity.ts';
import { createKafka, type KafkaSettings } from './kafka-client.ts';
import { KafkaConnection } from './kafka-connection.ts';

const bytesAtOnce = 4 * 1024 * 1024;
const fetchWait = 500;

/** Retries of a fetch that failed or returned nothing, and the delay between them in milliseconds. */
const retriesMax = 19;
const retryDelay = 200;

export class KafkaReader implements RecordLog, LedLog {
  readonly partitions: number;
  readonly #connection: KafkaConnection;
  /** The only broker that may be asked; undefined: whoever leads. */
  readonly #leader: string | undefined;

  /** The reader owns the connection, and closes it. */
  constructor(connection: KafkaConnection, partitions: number, leader?: string) {
    this.#connection = connection;
    this.partitions = partitions;
    this.#leader = leader;
  }

  /** Connects; rejects when no broker can be reached, or the topic does not exist. */
  static async open(settings: KafkaSettings, partitions: number, logger: Logger): Promise<KafkaReader> {
    return new KafkaReader(await KafkaConnection.open(createKafka(settings, logger), settings.topic), partitions);
  }

  /** Record times never decrease if reading starts at offset 0. */
  async *read(partition: number, from: bigint, to: bigint): AsyncGenerator<readonly LogRecord[]> {
    let time = 0;
    for (let next = from; next < to; ) {
      const records = (await this.#fetch(partition, next)).filter(({ offset }) => offset < to);
      yield records.map((record) => {
        time = Math.max(time, record.time);
        return record.time === time ? record : { ...record, time };
      });
      next = records.at(-1)!.offset + 1n;
    }
  }

  async bounds(partition: number): Promise<PartitionBounds> {
    const { start, end, leader } = (await this.#connection.bounds([partition])).get(partition)!;
    if (this.#leader !== undefined && leader !== this.#leader) throw new OtherLeader(partition);
    return { start, end };
  }

  /** The same log, through the same connection. */
  ledBy(leader: string | undefined): Pick<KafkaReader, 'read' | 'bounds'> {
    return new KafkaReader(this.#connection, this.partitions, leader);
  }

  /** The broker that is asked about a partition; undefined if none leads it. */
  leaderOf(partition: number): string | undefined {
    return this.#connection.leaderOf(partition);
  }

  /** Asks who leads a partition until another broker names the same one (`KafkaConnection.findLeaderAnew`). */
  findLeaderAnew(partition: number): Promise<string> {
    return this.#connection.findLeaderAnew(partition);
  }

  async appendRecord(partition: number, bytes: Uint8Array): Promise<void> {
    await this.#connection.send(partition, [bytes]);
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** The records from this offset on, at least one. Rejects with WrongLog when the offset is missing. */
  #fetch(partition: number, offset: bigint): Promise<readonly LogRecord[]> {
    return pRetry(async () => {
      const [leader] = (await this.#connection.leaders([partition])).keys();
      if (leader === undefined) throw new Error(`partition ${partition} has no leader`);
      if (this.#leader !== undefined && leader !== this.#leader) throw new AbortError(new OtherLeader(partition));
      const fetched = await this.#connection.fetch(leader, new Map([[partition, offset]]), { waitMs: fetchWait, bytesMax: bytesAtOnce });
      const records = fetched.get(partition)?.records ?? [];
      if (records[0]?.offset === offset) return records;
      const missing = new WrongLog(`partition ${partition} has no record at offset ${offset}`);
      throw records.length > 0 ? new AbortError(missing) : missing;
    }, { retries: retriesMax, minTimeout: retryDelay, factor: 1 });
  }
}
