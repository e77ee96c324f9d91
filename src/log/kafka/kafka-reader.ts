/** Reads the records of a log in Kafka from any offset: for replay, for proofs of identity, and to resume the log. */
import pRetry, { AbortError } from 'p-retry';
import type { Logger } from 'pino';
import type { LogRecord, PartitionBounds, RecordLog } from '../event-log.ts';
import { copyBytes, wrapCopy } from '../../language/events/record-copy.ts';
import { OtherLeader, WrongLog, type LedLog } from '../identity.ts';
import { createKafka, type KafkaSettings } from './kafka-client.ts';
import { KafkaConnection } from './kafka-connection.ts';

const bytesAtOnce = 4 * 1024 * 1024;
/** Brokers return at least a whole batch, however large it is. */
const oneRecordBytes = 1;
const fetchWait = 500;

/**
 * Limits of one send of copies. By default brokers accept batches of up to a megabyte. Each record has a few bytes of
 * framing.
 */
const sendBytesMax = 900_000;
const sendRecordsMax = 10_000;
const frameBytes = 20;

/** Retries of a fetch that failed or returned nothing, and the delay between them in milliseconds. */
const retriesMax = 19;
const retryDelay = 200;

export class KafkaReader implements RecordLog, LedLog {
  readonly partitions: number;
  readonly #connection: KafkaConnection;
  /** The only broker that may be asked; undefined: the current leader. */
  readonly #leader: string | undefined;

  /** The reader owns the connection, and closes it. */
  constructor(connection: KafkaConnection, partitions: number, leader?: string) {
    this.#connection = connection;
    this.partitions = partitions;
    this.#leader = leader;
  }

  /** Connects. Rejects if no broker can be reached, or if the topic does not exist. */
  static async open(settings: KafkaSettings, partitions: number, logger: Logger): Promise<KafkaReader> {
    return new KafkaReader(await KafkaConnection.open(createKafka(settings, logger), settings.topic), partitions);
  }

  /** Record times never decrease if the read starts at offset 0. */
  async *read(partition: number, from: bigint, to: bigint): AsyncGenerator<readonly LogRecord[]> {
    let time = 0;
    for (let next = from; next < to;) {
      const records = (await this.#fetch(partition, next, to - next === 1n ? oneRecordBytes : bytesAtOnce)).filter(
        ({ offset }) => offset < to,
      );
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

  /** The same log over the same connection. */
  ledBy(leader: string | undefined): Pick<KafkaReader, 'read' | 'bounds'> {
    return new KafkaReader(this.#connection, this.partitions, leader);
  }

  /** The broker that is asked about a partition; undefined if no broker leads it. */
  leaderOf(partition: number): string | undefined {
    return this.#connection.leaderOf(partition);
  }

  /** Asks for the leader of a partition until another broker names the same one (`KafkaConnection.findLeaderAnew`). */
  findLeaderAnew(partition: number): Promise<string> {
    return this.#connection.findLeaderAnew(partition);
  }

  async confirmLeader(partition: number): Promise<void> {
    await this.findLeaderAnew(partition);
  }

  async appendRecord(partition: number, bytes: Uint8Array): Promise<void> {
    await this.#connection.send(partition, [bytes]);
  }

  async appendCopies(partition: number, records: readonly LogRecord[]): Promise<void> {
    // Kafka appends at the present end of the partition. So the end is checked before the first send, and after each
    // send.
    const { end } = await this.bounds(partition);
    requireEnd(partition, records[0]!.offset, end);
    for (let first = 0, next = 0; first < records.length; first = next) {
      let bytes = 0;
      while (next < records.length && next - first < sendRecordsMax) {
        bytes += records[next]!.bytes.length + copyBytes + frameBytes;
        if (next > first && bytes > sendBytesMax) break;
        next += 1;
      }
      const { offset } = await this.#connection.send(partition, records.slice(first, next).map(wrapCopy));
      requireEnd(partition, records[first]!.offset, offset);
    }
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** The records from this offset on, at least one. Rejects with WrongLog if the offset is missing. */
  #fetch(partition: number, offset: bigint, bytesMax: number): Promise<readonly LogRecord[]> {
    return pRetry(
      async () => {
        const [leader] = (await this.#connection.leaders([partition])).keys();
        if (leader === undefined) throw new Error(`partition ${partition} has no leader`);
        if (this.#leader !== undefined && leader !== this.#leader) throw new AbortError(new OtherLeader(partition));
        const fetched = await this.#connection.fetch(leader, new Map([[partition, offset]]), {
          waitMs: fetchWait,
          bytesMax,
        });
        const records = fetched.get(partition)?.records ?? [];
        if (records[0]?.offset === offset) return records;
        const missing = new WrongLog(`partition ${partition} has no record at offset ${offset}`);
        throw records.length > 0 ? new AbortError(missing) : missing;
      },
      { retries: retriesMax, minTimeout: retryDelay, factor: 1 },
    );
  }
}

/** Throws WrongLog if a copy was or would be written to another offset than its own. */
function requireEnd(partition: number, offset: bigint, end: bigint): void {
  if (end !== offset)
    throw new WrongLog(
      `partition ${partition} ended at ${end} but the record at ${offset} was to be copied there: another process writes to it`,
    );
}
