/**
 * Where the partitions of the log end, and how far their projection is from there, whichever process does it: whether it
 * has caught up with what the log held at the start, how far it is behind now, and where nobody looks after it. Asking for
 * the ends also tells whether Kafka is there.
 */
import type { Logger } from 'pino';
import { allPartitions } from '../partition.ts';
import type { KafkaConnection } from './kafka-connection.ts';

/** How often the brokers are asked where the log ends, in milliseconds. */
const askInterval = 1000;

/** A partition that has more to be projected, and is not projected for so long, is looked after by nobody. In milliseconds. */
const standsStillAfter = 15_000;

export interface LogEndsOptions {
  readonly connection: Pick<KafkaConnection, 'bounds'>;
  /** The end of each partition at the start. */
  readonly ends: readonly bigint[];
  /** How far a partition is projected, as far as this process knows. */
  readonly nextOf: (partition: number) => bigint;
  readonly logger: Logger;
}

/** Where a partition was when it was last looked at, and since when it has been there although there is more. */
interface Standing {
  readonly next: bigint;
  readonly since: number | null;
}

export class LogEnds {
  readonly #options: LogEndsOptions;
  readonly #partitions: readonly number[];
  readonly #ends: bigint[];
  readonly #standing: Standing[];
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

  /** Why Kafka could not be asked; null while it can. */
  get away(): Error | null {
    return this.#away;
  }

  /** A broker has answered, and the partition goes to here at least. */
  heard(partition: number, end: bigint): void {
    this.#away = null;
    if (end > this.#ends[partition]!) this.#ends[partition] = end;
  }

  /** How many events the projection of a partition is behind. */
  lagOf(partition: number): number {
    return distance(this.#options.nextOf(partition), this.#ends[partition]!);
  }

  /** How many of the events that a partition held at the start are yet to be projected. */
  leftOf(partition: number): number {
    return distance(this.#options.nextOf(partition), this.#options.ends[partition]!);
  }

  /** The partitions that nobody projects although there is something to be projected. */
  unattended(): number[] {
    const before = performance.now() - standsStillAfter;
    return this.#partitions.filter((partition) => (this.#standing[partition]!.since ?? Infinity) < before);
  }

  async #ask(): Promise<void> {
    const { connection, logger } = this.#options;
    try {
      const bounds = await connection.bounds(this.#partitions);
      if (this.#away) logger.info('Kafka can be reached again');
      for (const [partition, { end }] of bounds) this.heard(partition, end);
      this.#lookForStandstill();
    } catch (error) {
      if (this.#closed) return;
      if (!this.#away) logger.warn({ err: error }, 'Kafka cannot be reached');
      this.#away = error as Error;
    }
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

/** What is heard of the one may be older than what is heard of the other. */
function distance(next: bigint, end: bigint): number {
  return next < end ? Number(end - next) : 0;
}
