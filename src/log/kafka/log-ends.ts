/**
 * Tracks the ends of the partitions, and how far their projection, by any process, is behind: whether it has caught up
 * with the log as of startup, its present lag, and which partitions nobody projects. The polls of the ends also show
 * whether Kafka can be reached.
 */
import type { Logger } from 'pino';
import { allPartitions } from '../partition.ts';
import type { KafkaConnection } from './kafka-connection.ts';

/** Interval of polling the ends of the log, in milliseconds. */
const askInterval = 1000;

/** If a partition with a backlog makes no progress for this long, in milliseconds, it counts as unattended. */
const standsStillAfter = 15_000;

interface LogEndsOptions {
  readonly connection: Pick<KafkaConnection, 'bounds' | 'findLeaderAnew'>;
  /** The end of each partition at startup. */
  readonly ends: readonly bigint[];
  /** How far a partition is projected, as far as this process knows. */
  readonly nextOf: (partition: number) => bigint;
  /**
   * Called when two consecutive polls found that a partition ends before its projection, and a second broker confirmed
   * its leader.
   */
  readonly onShort: (partition: number, end: bigint, next: bigint) => void;
  readonly logger: Logger;
}

/**
 * Where the projection of a partition was at the last check, and since when it has stood still with a backlog (null: it
 * does not stand still).
 */
interface Standing {
  readonly next: bigint;
  readonly since: number | null;
}

export class LogEnds {
  readonly #options: LogEndsOptions;
  readonly #partitions: readonly number[];
  readonly #ends: bigint[];
  readonly #standing: Standing[];
  /**
   * The partitions that seemed too short at the last poll. A deposed leader answers so until it knows that it is
   * deposed.
   */
  readonly #short = new Set<number>();
  /**
   * The short partitions whose leader a second broker confirmed. Their leaders are not searched again, because a search
   * breaks connections.
   */
  readonly #confirmed = new Set<number>();
  #away: Error | null = null;
  #timer: NodeJS.Timeout | undefined;
  #asking: Promise<void> | null = null;
  #closed = false;

  constructor(options: LogEndsOptions) {
    this.#options = options;
    this.#partitions = allPartitions(options.ends.length);
    this.#ends = [...options.ends];
    this.#standing = options.ends.map(() => ({ next: 0n, since: null }));
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#asking ??= this.#ask().finally(() => {
        this.#asking = null;
      });
    }, askInterval);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#timer);
    await this.#asking;
  }

  /** Why the last request to Kafka failed; null if it succeeded. */
  get away(): Error | null {
    return this.#away;
  }

  /** Records that a broker has answered, and that the partition ends at `end` or later. */
  heard(partition: number, end: bigint): void {
    this.#away = null;
    if (end > this.#ends[partition]!) this.#ends[partition] = end;
  }

  /** The end of a partition, as far as known. */
  endOf(partition: number): bigint {
    return this.#ends[partition]!;
  }

  /** How many events the projection of a partition is behind. */
  lagOf(partition: number): number {
    return distance(this.#options.nextOf(partition), this.#ends[partition]!);
  }

  /** How many of the events that a partition held at startup still have to be projected. */
  leftOf(partition: number): number {
    return distance(this.#options.nextOf(partition), this.#options.ends[partition]!);
  }

  /** The partitions that have a backlog and that nobody projects. */
  unattended(): number[] {
    const before = performance.now() - standsStillAfter;
    return this.#partitions.filter((partition) => (this.#standing[partition]!.since ?? Infinity) < before);
  }

  /**
   * How long a partition has had a backlog and made no progress, in milliseconds; 0 if it makes progress or has no
   * backlog.
   */
  standsFor(partition: number): number {
    const { since } = this.#standing[partition]!;
    return since === null ? 0 : performance.now() - since;
  }

  async #ask(): Promise<void> {
    const { connection, nextOf, onShort, logger } = this.#options;
    try {
      const led = await this.#findLeaders(this.#short.difference(this.#confirmed));
      const before = this.#partitions.map(nextOf);
      const bounds = await connection.bounds(this.#partitions);
      if (this.#away) logger.info('Kafka can be reached again');
      for (const [partition, { end, leader }] of bounds) {
        this.heard(partition, end);
        if (end >= before[partition]!) {
          this.#short.delete(partition);
          this.#confirmed.delete(partition);
        } else if (!this.#short.has(partition)) this.#short.add(partition);
        else if (led.has(partition) && led.get(partition) === leader) {
          this.#confirmed.add(partition);
          onShort(partition, end, before[partition]!);
        }
      }
      this.#lookForStandstill();
    } catch (error) {
      if (this.#closed) return;
      if (!this.#away) logger.warn({ err: error }, 'Kafka cannot be reached');
      this.#away = error as Error;
    }
  }

  /** Searches for the leaders of these partitions. Returns the confirmed ones. Never rejects. */
  async #findLeaders(partitions: Iterable<number>): Promise<ReadonlyMap<number, string>> {
    const { connection, logger } = this.#options;
    const led = new Map<number, string>();
    await Promise.all(
      Array.from(partitions, async (partition) => {
        try {
          led.set(partition, await connection.findLeaderAnew(partition));
        } catch (error) {
          logger.debug({ partition, err: error }, 'the leader of a partition is not confirmed yet');
        }
      }),
    );
    return led;
  }

  #lookForStandstill(): void {
    for (const partition of this.#partitions) {
      const { next: before, since } = this.#standing[partition]!;
      const next = this.#options.nextOf(partition);
      const stands = next === before && next < this.#ends[partition]!;
      this.#standing[partition] = { next, since: stands ? (since ?? performance.now()) : null };
    }
  }
}

/** Zero if `next` is ahead: the two values may be of different age. */
function distance(next: bigint, end: bigint): number {
  return next < end ? Number(end - next) : 0;
}
