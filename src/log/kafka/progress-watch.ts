/**
 * Reads from Postgres how far the partitions are projected, by any process, and the outcomes for which requests of this
 * process wait. The process that projects a partition notifies the others. A poll backs that up, because a notification
 * can be lost with a connection.
 */
import type { Logger } from 'pino';
import type { Database } from '../../storage/database/database.ts';
import type { Connection } from '../../storage/database/history.ts';
import { findProgressAndOutcomes } from '../outcomes/outcomes.store.ts';
import { readProgressNow, type Progress } from '../progress/progress.store.ts';
import { noTeamsHeld } from '../quarantine/held-teams.ts';
import { decodeNotification, ProgressNotifier, type ProgressNotification } from './progress-notifications.ts';
import { LogClock } from '../log-clock.ts';
import type { OutcomeWaiters } from './outcome-waiters.ts';

/** The progress of a partition, as far as this process knows it. */
export type PartitionProgress = Pick<Progress, 'next' | 'time' | 'halted' | 'contradicted' | 'caughtUp' | 'held'>;

/** The interval of checks for overdue requests, and that of reads of all partitions' progress, in milliseconds. */
const lookInterval = 100;
const refreshInterval = 1000;

/** If a request waits longer than this, its outcome is looked up without a notification. In milliseconds. */
const pollAfter = 100;

interface ProgressWatchOptions {
  readonly database: Database;
  readonly waiters: OutcomeWaiters;
  readonly partitions: number;
  /** How long a request waits while nothing moves, in milliseconds. */
  readonly unknownWait: number;
  /** Whether it hears notifications. */
  readonly listens: boolean;
  readonly logger: Logger;
  /** The progress of a partition is lower than before: Postgres lost commits. */
  readonly onFallen: (partition: number) => void;
  /** Called after the progress of all partitions was read. `began`: when the read began, by `performance.now`. */
  readonly onRefreshed: (began: number) => void;
}

export class ProgressWatch {
  readonly #options: ProgressWatchOptions;
  readonly #channel: string;
  readonly #progress: PartitionProgress[];
  /** Partitions whose outcomes are being looked up; true: look them up again afterwards. */
  readonly #lookingUp = new Map<number, boolean>();
  readonly #lookUps = new Set<Promise<void>>();
  readonly #notifier: ProgressNotifier;
  readonly #clock = new LogClock('Postgres');
  #listener: Awaited<ReturnType<Database['listen']>> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #refreshedAt = -Infinity;
  #refreshing: Promise<void> | null = null;
  #away: Error | null = null;
  readonly #closing = new AbortController();

  constructor(options: ProgressWatchOptions) {
    this.#options = options;
    // A new format needs a new channel name. Processes of two versions may run side by side; if they cannot hear each
    // other, they poll.
    this.#channel = `${options.database.schema}_outcomes`;
    this.#notifier = new ProgressNotifier(options.database, this.#channel, options.logger);
    this.#progress = Array.from({ length: options.partitions }, () => ({
      next: 0n,
      time: 0,
      halted: null,
      contradicted: false,
      caughtUp: false,
      held: noTeamsHeld,
    }));
  }

  /** Begins to listen and to poll. Rejects when Postgres is away. */
  async start(): Promise<void> {
    const { database, listens } = this.#options;
    if (listens) this.#listener = await database.listen(this.#channel, (payload) => this.#hear(payload));
    await this.refresh();
    this.#timer = setInterval(() => this.#look(), lookInterval);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    clearInterval(this.#timer);
    await Promise.all([this.#listener?.close(), this.#refreshing, this.#notifier.close(), ...this.#lookUps]);
  }

  /** A sentence about a clock difference between Postgres and this process that is too large; null: there is none. */
  get clockProblem(): string | null {
    return this.#clock.problem;
  }

  /** Why the last query to Postgres failed; null if it succeeded. */
  get away(): Error | null {
    return this.#away;
  }

  of(partition: number): PartitionProgress {
    return this.#progress[partition]!;
  }

  /** Reads the progress of all partitions. Rejects when Postgres is away. */
  async refresh(connection: Connection = this.#options.database.pool): Promise<void> {
    const { waiters, onFallen } = this.#options;
    const began = performance.now();
    const before = this.#progress.map(({ next }) => next);
    const { progress, serverTime } = await readProgressNow(connection);
    this.#refreshedAt = performance.now();
    this.#clock.set(serverTime);
    progress.forEach(({ next, time, halted, contradicted, caughtUp, held }, partition) => {
      if (next < before[partition]!) onFallen(partition);
      // This process may have learned of newer progress in the meantime.
      const known = this.#progress[partition]!;
      this.#progress[partition] = {
        next: next > known.next ? next : known.next,
        time: Math.max(time, known.time),
        halted,
        contradicted,
        caughtUp,
        held,
      };
      waiters.moved(partition, next);
      if (halted !== null) waiters.abandon(partition);
    });
    this.#options.onRefreshed(began);
  }

  /** Records that this process has projected a partition up to `next`. */
  moved(partition: number, next: bigint): void {
    const known = this.#progress[partition]!;
    if (next > known.next) this.#progress[partition] = { ...known, next };
  }

  /** Records that this process has found that a partition has halted. */
  halted(partition: number, reason: string): void {
    this.#progress[partition] = { ...this.#progress[partition]!, halted: reason };
    this.#options.waiters.abandon(partition);
  }

  /** Notifies other processes of what this one has projected. Never rejects. */
  notify(notification: ProgressNotification): void {
    this.#notifier.notify(notification);
  }

  /** Stores a batch and notifies other processes of it. See `ProgressNotifier.withNotification`. */
  withNotification(...storing: Parameters<ProgressNotifier['withNotification']>): Promise<boolean> {
    return this.#notifier.withNotification(...storing);
  }

  /** Looks up the outcomes that requests wait for. Never rejects. */
  lookUp(partition: number): void {
    if (this.#lookingUp.has(partition)) {
      this.#lookingUp.set(partition, true);
      return;
    }
    this.#lookingUp.set(partition, false);
    const lookUp = this.#lookUpUntilDone(partition).finally(() => this.#lookUps.delete(lookUp));
    this.#lookUps.add(lookUp);
  }

  async #lookUpUntilDone(partition: number): Promise<void> {
    const { database, waiters, logger } = this.#options;
    try {
      do {
        this.#lookingUp.set(partition, false);
        const commands = waiters.commands(partition);
        const { next, held, outcomes } = await findProgressAndOutcomes(database.reader, partition, commands);
        this.#away = null;
        for (const recorded of outcomes) waiters.settleStored(partition, recorded);
        // Only these commands, because the look-up did not cover requests that arrived during it.
        waiters.advanceFor(partition, commands, next, held);
        this.moved(partition, next);
      } while (this.#lookingUp.get(partition));
    } catch (error) {
      logger.debug({ partition, err: error }, 'outcomes could not be looked up');
    } finally {
      this.#lookingUp.delete(partition);
    }
  }

  #look(): void {
    const { waiters, partitions, unknownWait, logger } = this.#options;
    for (let partition = 0; partition < partitions; partition += 1) {
      if (waiters.commands(partition, pollAfter).length > 0) this.lookUp(partition);
    }
    waiters.giveUp(unknownWait);
    if (this.#refreshing || performance.now() - this.#refreshedAt < refreshInterval) return;
    this.#refreshing = this.refresh()
      .then(
        () => {
          this.#away = null;
        },
        (error: Error) => {
          if (this.#away === null && !this.#closing.signal.aborted)
            logger.warn({ err: error }, 'Postgres cannot be reached');
          this.#away = error;
        },
      )
      .finally(() => {
        this.#refreshing = null;
      });
  }

  #hear(payload: string): void {
    const { waiters, logger } = this.#options;
    const notification = decodeNotification(payload);
    if (notification === null) return logger.warn({ payload }, 'ignored a notification that is not from a projector');
    const { partition, from, next, outcomes } = notification;
    if (outcomes !== null) {
      for (const [commandId, outcome] of outcomes) waiters.settle(partition, commandId, outcome);
      waiters.advance(partition, from, next);
      this.moved(partition, next);
    } else if (waiters.commands(partition).length > 0) this.lookUp(partition);
  }
}
