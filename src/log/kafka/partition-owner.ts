/**
 * The partitions that this process projects. The consumer group assigns them. This process takes a partition over from
 * its former owner, fetches it from its progress on, and projects it, until the partition is assigned to another
 * process, another process takes it, or it halts.
 */
import type { EncodedEvent } from '../../language/events/event.ts';
import pRetry from 'p-retry';
import type { Logger } from 'pino';
import type { Database } from '../../storage/database/database.ts';
import { isDatabaseAway } from '../../storage/database/database-away.ts';
import { pause } from '../../storage/pause.ts';
import { untilClosed } from '../until-closed.ts';
import { noteCaughtUp, noteHalted, takeOverPartition } from '../progress/progress.store.ts';
import type { ProjectionListener } from '../project-records.ts';
import type { Projector } from '../projector.ts';
import type { LogRecord, PartitionBounds } from '../event-log.ts';
import {
  changedLog,
  confirmDelay,
  proveIdentityTwice,
  RecordsLost,
  shortLog,
  WrongLog,
  type LedLog,
} from '../identity.ts';
import type { KafkaConnection } from './kafka-connection.ts';
import { PartitionFetcher, type FetchPlace } from './partition-fetcher.ts';
import { PartitionProjection, type TakeoverPosition, type ProjectionEvents } from './partition-projection.ts';
import { RetakeDelays } from './retake-delays.ts';

/** How long to wait after a failure, in milliseconds. */
const failureWait = 200;

/**
 * After an append to a partition, this process does not fetch the partition for this long, in milliseconds: it already
 * knows its own records. A record of another process shows as a gap before the next own record.
 */
const ownRecordsFor = 20;
/** After a gap, other processes also write. The partition is then fetched for at least this long, in milliseconds. */
const sharedFor = 5000;

interface PartitionOwnerOptions {
  readonly connection: KafkaConnection;
  readonly reader: LedLog;
  readonly database: Database;
  readonly projector: Projector;
  /** Rejects once the read model was replaced or the log has moved, because this process remembers the old one. */
  readonly requireReadModel: () => Promise<void>;
  readonly logger: Logger;
  readonly listener: ProjectionListener;
  readonly withNotification: (
    partition: number,
    ...storing: Parameters<ProjectionEvents['withNotification']>
  ) => ReturnType<ProjectionEvents['withNotification']>;
  readonly onProjected: (partition: number, ...projected: Parameters<ProjectionEvents['onProjected']>) => void;
  /** Called when a partition halts. `reason` is text for people. */
  readonly onHalted: (partition: number, offset: bigint, reason: string, error: Error) => void;
  readonly onTakenOver: (partition: number) => void;
}

/**
 * A value of `provenAt`: the fetching connection has proved nothing yet. The proof of the reader may have come from
 * another broker.
 */
const unproven = -1;

/** A partition that is projected here. */
interface Owned {
  readonly projection: PartitionProjection;
  readonly epoch: bigint;
  /** The end of the log when the partition was taken over; null once the projection has reached that end. */
  catchUpTo: bigint | null;
  /**
   * The number of doubts when the log was last proved to have everything that was projected, and at the last fetch.
   */
  provenAt: number;
  askedAt: number;
  /**
   * When this process last appended to the partition, and until when it fetches the partition because others also
   * append, by `performance.now`.
   */
  sentAt: number;
  sharedUntil: number;
}

export class PartitionOwner {
  readonly #options: PartitionOwnerOptions;
  readonly #owned = new Map<number, Owned>();
  readonly #retakeDelays = new RetakeDelays();
  #assigned: ReadonlySet<number> = new Set();
  readonly #takingOver = new Set<number>();
  /** When taking a partition over last failed and was retried, by `performance.now`. */
  readonly #failedAt = new Map<number, number>();
  readonly #tasks = new Set<Promise<void>>();
  readonly #fetcher: PartitionFetcher;
  readonly #closing = new AbortController();

  constructor(options: PartitionOwnerOptions) {
    this.#options = options;
    this.#fetcher = new PartitionFetcher({
      connection: options.connection,
      logger: options.logger,
      partitions: () => this.partitions,
      placeOf: (partition) => this.#placeToFetch(partition),
      onFetched: (partition, from, records) => this.#offerFetched(partition, from, records),
      onOutOfRange: (partition) => this.#judgeRange(partition),
    });
  }

  /** The partitions that this process now projects. */
  get partitions(): number[] {
    return [...this.#owned.keys()];
  }

  /** Whether a partition is assigned to this process. */
  hasAssigned(partition: number): boolean {
    return this.#assigned.has(partition);
  }

  /** When an attempt to move a partition on last failed and was retried, by `performance.now`. */
  failedAt(partition: number): number {
    return Math.max(
      this.#failedAt.get(partition) ?? -Infinity,
      this.#owned.get(partition)?.projection.failedAt ?? -Infinity,
      this.#fetcher.failedAt,
    );
  }

  /** Takes over the partitions that are new in this list, and closes those that are no longer in it. */
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

  /** This process is appending events: preloads what their projection looks up. */
  loadAhead(partition: number, events: readonly EncodedEvent[]): void {
    this.#owned.get(partition)?.projection.loadAhead(events);
  }

  /** Takes records that this process has just appended. If they are the next ones, they need not be fetched. */
  offerSent(records: readonly LogRecord[]): void {
    const { partition } = records[0]!;
    const owned = this.#owned.get(partition);
    // Records since the last proof are fetched: without a new proof, it is not certain that they follow the projected
    // ones.
    if (!owned || owned.provenAt !== this.#options.connection.doubtsAbout(partition)) return;
    const now = performance.now();
    owned.sentAt = now;
    if (!owned.projection.offer(records)) owned.sharedUntil = now + sharedFor;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.assign([]);
    const { logger } = this.#options;
    await untilClosed('its fetches from Kafka', this.#fetcher.close(), logger);
    await untilClosed('what it takes over or projects', this.#idle(), logger);
  }

  async #idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.all(this.#tasks);
  }

  /** Tracks a background task, so that `close` can wait for it. The task must never reject. */
  #run(task: Promise<void>): void {
    this.#tasks.add(task);
    void task.finally(() => this.#tasks.delete(task));
  }

  #takeOverSoon(partition: number, delay: number): void {
    if (this.#takingOver.has(partition)) return;
    this.#takingOver.add(partition);
    this.#run(this.#takeOver(partition, delay).finally(() => this.#takingOver.delete(partition)));
  }

  /** Takes a partition over. Retries while the partition is assigned to this process. Never rejects. */
  async #takeOver(partition: number, delay: number): Promise<void> {
    const { database, requireReadModel, logger, reader, onHalted, onTakenOver } = this.#options;
    const { signal } = this.#closing;
    await pause(delay, signal);
    while (this.#assigned.has(partition) && !this.#owned.has(partition) && !signal.aborted) {
      try {
        // Checked first, so that this process does not fence off the owners in a new read model.
        await requireReadModel();
        const claim = await takeOverPartition(database.pool, partition);
        // Checked again: from here on, a replacement of the read model invalidates this epoch.
        await requireReadModel();
        onTakenOver(partition);
        // Other halts are tried again. This one stays: the log contradicts the read model.
        if (claim.halted !== null) return onHalted(partition, claim.next, claim.halted, new WrongLog(claim.halted));
        try {
          await proveIdentityTwice(reader, partition, claim);
        } catch (error) {
          if (!(error instanceof WrongLog)) throw error;
          if (!(await this.#note(partition, claim.epoch, error.message, error))) continue;
          return onHalted(partition, claim.next, error.message, error);
        }
        const { end } = await reader.bounds(partition);
        if (!this.#assigned.has(partition)) return;
        this.#own(partition, claim, end);
        logger.info({ partition, offset: String(claim.next), epoch: String(claim.epoch) }, 'took a partition over');
        return;
      } catch (error) {
        this.#failedAt.set(partition, performance.now());
        logger.warn({ partition, err: error }, 'cannot take a partition over yet');
        await pause(failureWait, signal);
      }
    }
  }

  #own(partition: number, position: TakeoverPosition, end: bigint): void {
    const { database, projector, logger, listener } = this.#options;
    const takenAt = performance.now();
    const projection = new PartitionProjection({
      partition,
      position,
      database,
      projector,
      listener,
      withNotification: (...storing) => this.#options.withNotification(partition, ...storing),
      onProjected: (records, decided, isNotified) => {
        this.#options.onProjected(partition, records, decided, isNotified);
        this.#noteCaughtUp(partition, records.at(-1)!.offset + 1n);
      },
      onLost: (isFenced) => {
        this.#owned.delete(partition);
        // Three cases: the group is assigning the partition to that process, that process took it without being in the
        // group, or it is proving the log.
        const delay = isFenced ? 0 : this.#retakeDelays.next(partition, performance.now() - takenAt);
        const level = delay === 0 ? 'info' : 'warn';
        logger[level](
          { partition, epoch: String(position.epoch) },
          'another process has taken a partition over, halted it, or is proving its log',
        );
        this.#takeOverSoon(partition, delay);
      },
      onHalted: (offset, error) => {
        this.#owned.delete(partition);
        const reason =
          error instanceof WrongLog
            ? error.message
            : `partition ${partition} has halted at offset ${offset}: ${error.message}`;
        this.#run(
          this.#note(partition, position.epoch, reason, error).then((isNoted) => {
            if (!isNoted) this.#takeOverSoon(partition, failureWait);
          }),
        );
        this.#options.onHalted(partition, offset, reason, error);
      },
    });
    this.#owned.set(partition, {
      projection,
      epoch: position.epoch,
      catchUpTo: end,
      provenAt: unproven,
      askedAt: unproven,
      sentAt: -Infinity,
      sharedUntil: -Infinity,
    });
    this.#noteCaughtUp(partition, position.next);
    this.#fetcher.start();
  }

  #noteCaughtUp(partition: number, next: bigint): void {
    const owned = this.#owned.get(partition);
    if (!owned || owned.catchUpTo === null || next < owned.catchUpTo) return;
    owned.catchUpTo = null;
    const { pool } = this.#options.database;
    this.#run(this.#untilDone(partition, () => noteCaughtUp(pool, partition, owned.epoch)));
  }

  /**
   * Stores why a partition has halted, for other processes, until a process takes it over with the right settings or
   * code. If records are lost, the receiver of `onHalted` stores that instead. Resolves to false if the epoch was
   * raised meanwhile: if the partition is still assigned to this process, it must be taken over, and halts again.
   */
  async #note(partition: number, epoch: bigint, reason: string, error: Error): Promise<boolean> {
    if (error instanceof RecordsLost) return true;
    const { pool } = this.#options.database;
    let isNoted = true;
    await this.#untilDone(partition, async () => {
      isNoted = await noteHalted(pool, partition, epoch, reason);
    });
    return isNoted;
  }

  /** Retries while Postgres cannot be reached. Never rejects. */
  async #untilDone(partition: number, work: () => Promise<void>): Promise<void> {
    const { signal } = this.#closing;
    try {
      await pRetry(work, {
        retries: Infinity,
        minTimeout: failureWait,
        factor: 1,
        signal,
        shouldRetry: ({ error }) => isDatabaseAway(error),
      });
    } catch (error) {
      if (signal.aborted) return;
      this.#options.logger.error({ partition, err: error }, 'the state of a partition could not be stored');
    }
  }

  /** The place from which to fetch a partition; null if it should not be fetched now. */
  #placeToFetch(partition: number): FetchPlace | null {
    const owned = this.#owned.get(partition);
    if (!owned?.projection.hasRoom) return null;
    const doubts = this.#options.connection.doubtsAbout(partition);
    owned.askedAt = doubts;
    const { tail } = owned.projection;
    // The record before the tail proves that the log still continues it.
    if (owned.provenAt !== doubts) return { offset: tail === 0n ? tail : tail - 1n, doubts };
    const now = performance.now();
    const knowsWhatComes = now < owned.sentAt + ownRecordsFor && now > owned.sharedUntil;
    return knowsWhatComes ? null : { offset: tail, doubts };
  }

  #offerFetched(partition: number, { offset, doubts }: FetchPlace, records: readonly LogRecord[]): void {
    const owned = this.#owned.get(partition);
    // While another broker becomes the leader, two fetches may be in flight. Only the later one counts.
    if (!owned || owned.askedAt !== doubts) return;
    const { projection, provenAt } = owned;
    const [first] = records;
    if (first!.offset > offset)
      projection.halt(new RecordsLost(partition, `the log has no record at offset ${offset}`));
    else if (provenAt === doubts) projection.offer(records);
    else if (projection.tail === 0n || projection.endsWith(first!)) {
      owned.provenAt = doubts;
      projection.offer(records);
    } else if (first!.offset === projection.tail - 1n) projection.halt(changedLog(partition, projection.tail));
  }

  /**
   * Handles a fetch offset that is not in the log, now and after a while: the log was replaced, or has lost a part.
   * Never rejects.
   */
  async #judgeRange(partition: number): Promise<void> {
    const projection = this.#owned.get(partition)?.projection;
    if (!projection) return;
    try {
      const { reader } = this.#options;
      if (isInRange(projection, await reader.bounds(partition))) return;
      await pause(confirmDelay, this.#closing.signal);
      const leader = await reader.findLeaderAnew(partition);
      const bounds = await reader.ledBy(leader).bounds(partition);
      if (!isInRange(projection, bounds)) projection.halt(shortLog(partition, bounds.end, projection.tail));
    } catch (error) {
      this.#options.logger.debug({ partition, err: error }, 'the bounds of a partition are not known yet');
    }
  }
}

function isInRange({ tail }: PartitionProjection, { start, end }: PartitionBounds): boolean {
  return tail >= start && tail <= end;
}
