/**
 * The partitions that this process projects. The group says which; each is taken over from whoever had it, fetched from
 * where its progress is, and projected until it is given to another process, is lost to one, or halts.
 */
import type { Logger } from 'pino';
import type { Database } from '../../database/database.ts';
import { isDatabaseAway } from '../../database/database-away.ts';
import type { Projected, Projector } from '../../../projections/projector.ts';
import type { LogReader, LogRecord } from '../event-log.ts';
import { proveIdentity, WrongLog, type RememberedLog } from '../identity.ts';
import { OffsetOutOfRange, type KafkaLink } from './kafka-link.ts';
import { PartitionProjection, type Position } from './partition-projection.ts';
import { pause } from './pause.ts';

/** How long a broker waits for a first record, in milliseconds; less when some partitions are not asked for meanwhile. */
const fetchWait = 500;
const shortFetchWait = 50;
const fetchBytesMax = 4 * 1024 * 1024;

/** How long to wait when nothing is to be fetched now, or after a failure, in milliseconds. */
const idleWait = 10;
const failureWait = 200;

/**
 * A partition to which this process has just appended is not fetched for so long: its own records are known, and a record
 * of somebody else shows as a gap before the next one. In milliseconds.
 */
const ownRecordsFor = 20;
/** Once there was a gap, others write there too, and the partition is fetched for at least so long. In milliseconds. */
const sharedFor = 5000;

/** When a partition was lost although the group still gives it to this process, it is taken back so much later. */
const retakeDelay = 5000;

export interface PartitionOwnerOptions {
  readonly link: KafkaLink;
  readonly reader: LogReader;
  readonly database: Database;
  readonly projector: Projector;
  readonly logger: Logger;
  readonly onProjected: (
    partition: number, records: readonly LogRecord[], outcomes: Projected['outcomes'] | null,
  ) => void;
  readonly onHalted: (partition: number, offset: bigint, error: Error) => void;
  readonly onTakenOver: (partition: number) => void;
}

/** A partition that is projected here. */
interface Owned {
  readonly projection: PartitionProjection;
  readonly epoch: bigint;
  /** The end of the log when it was taken over; null once the projection has been there. */
  catchUpTo: bigint | null;
  /** When this process last appended to it, and until when others are known to, by `performance.now`. */
  sentAt: number;
  sharedUntil: number;
}

export class PartitionOwner {
  readonly #options: PartitionOwnerOptions;
  readonly #owned = new Map<number, Owned>();
  #assigned: ReadonlySet<number> = new Set();
  readonly #takingOver = new Set<number>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #fetching = new Set<string>();
  readonly #closing = new AbortController();

  constructor(options: PartitionOwnerOptions) {
    this.#options = options;
  }

  /** The partitions that are projected here now. */
  get partitions(): number[] {
    return [...this.#owned.keys()];
  }

  /** Takes over what is new among these partitions, and lets go of what is not among them any more. */
  assign(partitions: readonly number[]): void {
    this.#assigned = new Set(partitions);
    for (const [partition, { projection }] of this.#owned) {
      if (this.#assigned.has(partition)) continue;
      this.#owned.delete(partition);
      this.#run(projection.close());
    }
    for (const partition of partitions) {
      if (!this.#owned.has(partition)) this.#takeOverSoon(partition, 0);
    }
  }

  /** Takes records that this process has just appended: they need not be fetched if they are the next ones. */
  offerSent(records: readonly LogRecord[]): void {
    const owned = this.#owned.get(records[0]!.partition);
    if (!owned) return;
    const now = performance.now();
    owned.sentAt = now;
    if (!owned.projection.offer(records)) owned.sharedUntil = now + sharedFor;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.assign([]);
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  /** Keeps hold of something that goes on by itself and never rejects. */
  #run(task: Promise<void>): void {
    this.#tasks.add(task);
    void task.finally(() => this.#tasks.delete(task));
  }

  #takeOverSoon(partition: number, delay: number): void {
    if (this.#takingOver.has(partition)) return;
    this.#takingOver.add(partition);
    this.#run(this.#takeOver(partition, delay).finally(() => this.#takingOver.delete(partition)));
  }

  /** Takes a partition over, and tries for as long as it is this process's to take. Never rejects. */
  async #takeOver(partition: number, delay: number): Promise<void> {
    const { logger, reader, onHalted, onTakenOver } = this.#options;
    const { signal } = this.#closing;
    await pause(delay, signal);
    while (this.#assigned.has(partition) && !this.#owned.has(partition) && !signal.aborted) {
      try {
        const claim = await this.#claim(partition);
        onTakenOver(partition);
        try {
          await proveIdentity(reader, partition, claim);
        } catch (error) {
          if (!(error instanceof WrongLog)) throw error;
          await this.#remember(partition, claim.epoch, error.message);
          onHalted(partition, claim.next, error);
          return;
        }
        const { end } = await reader.bounds(partition);
        if (!this.#assigned.has(partition)) return;
        this.#own(partition, claim, end);
        logger.info({ partition, offset: String(claim.next), epoch: String(claim.epoch) }, 'took a partition over');
        return;
      } catch (error) {
        logger.warn({ partition, err: error }, 'a partition cannot be taken over yet');
        await pause(failureWait, signal);
      }
    }
  }

  /** Raises the epoch, so that nobody else can store anything for the partition any more. */
  async #claim(partition: number): Promise<Position & RememberedLog> {
    const { rows } = await this.#options.database.pool.query(
      'update progress set epoch = epoch + 1, halted = null where partition = $1 returning next, epoch, log_id, last_hash, time',
      [partition],
    );
    const { next, epoch, log_id: logId, last_hash: lastHash, time } = rows[0];
    return { next: BigInt(next), epoch: BigInt(epoch), time: Number(time), logId, lastHash };
  }

  #own(partition: number, position: Position, end: bigint): void {
    const { database, projector, logger } = this.#options;
    const projection = new PartitionProjection({
      partition, position, database, projector,
      onProjected: (records, outcomes) => {
        this.#options.onProjected(partition, records, outcomes);
        this.#noteCaughtUp(partition, records.at(-1)!.offset + 1n);
      },
      onLost: () => {
        logger.warn({ partition, epoch: String(position.epoch) }, 'another process has taken a partition over');
        this.#owned.delete(partition);
        // The group gives it to that process, or it was somebody who does not know of us.
        this.#takeOverSoon(partition, retakeDelay);
      },
      onHalted: (offset, error) => {
        this.#owned.delete(partition);
        const reason = `partition ${partition} has halted at offset ${offset}: ${error.message}`;
        this.#run(this.#remember(partition, position.epoch, reason));
        this.#options.onHalted(partition, offset, error);
      },
    });
    this.#owned.set(partition, {
      projection, epoch: position.epoch, catchUpTo: end, sentAt: -Infinity, sharedUntil: -Infinity,
    });
    this.#noteCaughtUp(partition, position.next);
    this.#run(this.#fetchFromLeaders());
  }

  #noteCaughtUp(partition: number, next: bigint): void {
    const owned = this.#owned.get(partition);
    if (!owned || owned.catchUpTo === null || next < owned.catchUpTo) return;
    owned.catchUpTo = null;
    const { database } = this.#options;
    const noting = async (): Promise<void> => {
      await database.pool.query(
        'update progress set caught_up = true where partition = $1 and epoch = $2 and not caught_up', [partition, String(owned.epoch)],
      );
    };
    this.#run(this.#untilDone(partition, noting));
  }

  /** Has other processes know why a partition is not projected. */
  #remember(partition: number, epoch: bigint, reason: string): Promise<void> {
    return this.#untilDone(partition, async () => {
      await this.#options.database.pool.query(
        'update progress set halted = $3 where partition = $1 and epoch = $2', [partition, String(epoch), reason],
      );
    });
  }

  /** Does something as soon as Postgres can be reached. Never rejects. */
  async #untilDone(partition: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        await work();
        return;
      } catch (error) {
        if (!isDatabaseAway(error)) {
          this.#options.logger.error({ partition, err: error }, 'what became of a partition could not be written down');
          return;
        }
        await pause(failureWait, signal);
      }
    }
  }

  /** Makes sure that each broker that leads a partition of this process is fetched from. Never rejects. */
  async #fetchFromLeaders(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted && this.#owned.size > 0) {
      try {
        this.#startFetching(await this.#options.link.leaders(this.partitions));
        return;
      } catch (error) {
        this.#options.logger.debug({ err: error }, 'the leaders of partitions are not known yet');
        await pause(failureWait, signal);
      }
    }
  }

  #startFetching(leaders: ReadonlyMap<string, unknown>): void {
    for (const leader of leaders.keys()) {
      if (this.#fetching.has(leader)) continue;
      this.#fetching.add(leader);
      this.#run(this.#fetchFrom(leader));
    }
  }

  /** Fetches from a broker for as long as it leads a partition of this process. Never rejects. */
  async #fetchFrom(leader: string): Promise<void> {
    const { link, logger } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const leaders = await link.leaders(this.partitions);
        this.#startFetching(leaders);
        const led = leaders.get(leader);
        if (led === undefined) break;
        const offsets = this.#offsetsToFetch(led);
        if (offsets.size === 0) {
          await pause(idleWait, signal);
          continue;
        }
        const waitMs = offsets.size < led.length ? shortFetchWait : fetchWait;
        const fetched = await link.fetch(leader, offsets, { waitMs, bytesMax: fetchBytesMax });
        for (const [partition, { records }] of fetched) this.#offerFetched(partition, offsets.get(partition)!, records);
      } catch (error) {
        if (error instanceof OffsetOutOfRange) await this.#judgeRange(error);
        else logger.debug({ err: error }, 'a fetch failed, and is tried again');
        await pause(failureWait, signal);
      }
    }
    this.#fetching.delete(leader);
  }

  #offsetsToFetch(partitions: readonly number[]): Map<number, bigint> {
    const now = performance.now();
    const offsets = new Map<number, bigint>();
    for (const partition of partitions) {
      const owned = this.#owned.get(partition);
      if (!owned?.projection.hasRoom) continue;
      if (now < owned.sentAt + ownRecordsFor && now > owned.sharedUntil) continue;
      offsets.set(partition, owned.projection.tail);
    }
    return offsets;
  }

  #offerFetched(partition: number, from: bigint, records: readonly LogRecord[]): void {
    const projection = this.#owned.get(partition)?.projection;
    if (!projection || records.length === 0) return;
    if (records[0]!.offset > from) projection.halt(new WrongLog(`the log has no record at offset ${from}`));
    else projection.offer(records);
  }

  /** An offset that is not in the log: another log lies there now, or a part of it is gone. Never rejects. */
  async #judgeRange({ partition }: OffsetOutOfRange): Promise<void> {
    const projection = this.#owned.get(partition)?.projection;
    if (!projection) return;
    try {
      const { start, end } = await this.#options.reader.bounds(partition);
      if (projection.tail >= start && projection.tail <= end) return;
      projection.halt(new WrongLog(
        `the log holds offsets ${start} to ${end} and the read model is at ${projection.tail}: it was cut, or made anew; restore it,`
        + ' or rebuild the read model with `tablog replay` if the log is right',
      ));
    } catch (error) {
      this.#options.logger.debug({ partition, err: error }, 'the bounds of a partition are not known yet');
    }
  }
}
