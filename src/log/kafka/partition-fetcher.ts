/**
 * Fetches the partitions of a process, with one long poll per leading broker. The owner decides which partitions are
 * fetched, and handles the records.
 */
import type { Logger } from 'pino';
import { pause } from '../../storage/pause.ts';
import type { LogRecord } from '../event-log.ts';
import { OffsetOutOfRange, type KafkaConnection } from './kafka-connection.ts';

/**
 * How long a broker waits for a first record, in milliseconds. Shorter while some of its partitions are not fetched.
 */
const fetchWait = 500;
const shortFetchWait = 50;
const fetchBytesMax = 4 * 1024 * 1024;

/** Pause after a failure, and when there is nothing to fetch, in milliseconds. */
const idleWait = 10;
const failureWait = 200;

/** Where a fetch begins, and the doubts about the partition at that time (`KafkaConnection.doubtsAbout`). */
export interface FetchPlace {
  readonly offset: bigint;
  readonly doubts: number;
}

interface PartitionFetcherOptions {
  readonly connection: Pick<KafkaConnection, 'leaders' | 'fetch'>;
  readonly logger: Logger;
  /** The partitions to fetch, now or later. */
  readonly partitions: () => readonly number[];
  /** The place from which to fetch a partition; null: do not fetch it now. */
  readonly placeOf: (partition: number) => FetchPlace | null;
  /** Called with records of a partition from a place on, at least one. */
  readonly onFetched: (partition: number, from: FetchPlace, records: readonly LogRecord[]) => void;
  /** Called when the log does not have the offset. Never rejects. */
  readonly onOutOfRange: (partition: number) => Promise<void>;
}

export class PartitionFetcher {
  readonly #options: PartitionFetcherOptions;
  /** By broker. */
  readonly #fetching = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #starting: Promise<void> | null = null;
  #failedAt = -Infinity;

  constructor(options: PartitionFetcherOptions) {
    this.#options = options;
  }

  /** When a fetch last failed and was retried, by `performance.now`. */
  get failedAt(): number {
    return this.#failedAt;
  }

  /** Call this when partitions were added. */
  start(): void {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = null;
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#starting;
    while (this.#fetching.size > 0) await Promise.all(this.#fetching.values());
  }

  /** Starts fetching from each broker that leads a partition. Never rejects. */
  async #start(): Promise<void> {
    const { connection, partitions, logger } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted && partitions().length > 0) {
      try {
        this.#startFetching(await connection.leaders(partitions()));
        return;
      } catch (error) {
        this.#failedAt = performance.now();
        logger.debug({ err: error }, 'the leaders of partitions are not known yet');
        await pause(failureWait, signal);
      }
    }
  }

  #startFetching(leaders: ReadonlyMap<string, unknown>): void {
    for (const leader of leaders.keys()) {
      if (this.#fetching.has(leader)) continue;
      this.#fetching.set(
        leader,
        this.#fetchFrom(leader).finally(() => this.#fetching.delete(leader)),
      );
    }
  }

  /** Fetches from a broker for as long as it leads a partition. Never rejects. */
  async #fetchFrom(leader: string): Promise<void> {
    const { connection, partitions, onOutOfRange, logger } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const asked = partitions();
        const leaders = await connection.leaders(asked);
        this.#startFetching(leaders);
        const led = leaders.get(leader);
        if (led !== undefined) await this.#fetchOnce(leader, led);
        // While this loop runs, no other loop fetches from the broker. So it ends if a partition was added meanwhile.
        else if (partitions().every((partition) => asked.includes(partition))) break;
      } catch (error) {
        this.#failedAt = performance.now();
        if (error instanceof OffsetOutOfRange) await onOutOfRange(error.partition);
        else logger.debug({ err: error }, 'a fetch failed, and is retried');
        await pause(failureWait, signal);
      }
    }
  }

  async #fetchOnce(leader: string, led: readonly number[]): Promise<void> {
    const { connection, placeOf, onFetched } = this.#options;
    const places = new Map<number, FetchPlace>();
    for (const partition of led) {
      const place = placeOf(partition);
      if (place !== null) places.set(partition, place);
    }
    if (places.size === 0) {
      await pause(idleWait, this.#closing.signal);
      return;
    }
    const waitMs = places.size < led.length ? shortFetchWait : fetchWait;
    const offsets = new Map(Array.from(places, ([partition, { offset }]) => [partition, offset]));
    for (const [partition, { records }] of await connection.fetch(leader, offsets, {
      waitMs,
      bytesMax: fetchBytesMax,
    })) {
      if (records.length > 0) onFetched(partition, places.get(partition)!, records);
    }
  }
}
