/**
 * The log in a Postgres table. Any number of processes append to it. Each append is decided and stored in its own
 * transaction (src/log/README.md).
 */
import { type EncodedEvent } from '../../language/events/event.ts';
import { teamOf } from '../../language/events/event-names.ts';
import pRetry from 'p-retry';
import type { Logger } from 'pino';
import type { Database } from '../../storage/database/database.ts';
import { isDatabaseAway } from '../../storage/database/database-away.ts';
import { inTransaction } from '../../storage/database/transaction.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import { readProgress, readProgressOf } from '../progress/progress.store.ts';
import type { Projector } from '../projector.ts';
import { describeHalt } from '../describe-halt.ts';
import { proveIdentity } from '../identity.ts';
import type { EventLog, LogRecord, LogStatus, PartitionBounds, Standstill } from '../event-log.ts';
import { LogClock } from '../log-clock.ts';
import { reportFailure, noLogObserver, type LogObserver } from '../log-observer.ts';
import { allPartitions, partitionOf } from '../partition.ts';
import { AppendQueue, type QueuedEvent } from '../batch/append-queue.ts';
import { appendsWait } from '../batch/waits.ts';
import { heldMessage, noTeamsHeld, type HeldTeams } from '../quarantine/held-teams.ts';
import { CatchUp } from './catch-up.ts';
import { createLogTables } from './log-tables.ts';
import { nameLog, resumeInNewHistory, resumeWithin } from './name-log.ts';
import { HeadWatch, selectHeads, type Head } from './head-watch.ts';
import { SharedRuns } from '../shared-runs.ts';
import { PartitionWriter } from './partition-writer.ts';
import { PostgresReader } from './postgres-reader.ts';
import { untilClosed } from '../until-closed.ts';

/** How long to wait before resuming the log is tried again, in milliseconds. */
const resumeDelay = 500;

interface PostgresLogOptions {
  readonly database: Database;
  readonly projector: Projector;
  readonly partitions: number;
  /**
   * How many events may wait to be appended, and how many bytes, over all partitions. Past either limit, appends are
   * refused.
   */
  readonly queueEventsMax: number;
  readonly queueBytesMax: number;
  /** The newest language of events that all live processes read; absent: this process is the only one. */
  readonly languageMax?: () => number;
  /** Whether processes with other read models may append; absent: they do not. */
  readonly mayBeBehind?: () => boolean;
  /** How long to look for the result of an unanswered commit, in milliseconds. */
  readonly unknownWait: number;
  readonly logger: Logger;
  /** Notified of appends, refusals and failures. */
  readonly observer?: LogObserver;
}

export class PostgresLog implements EventLog {
  readonly partitions: number;
  readonly #reader: PostgresReader;
  readonly #options: PostgresLogOptions;
  readonly #clock = new LogClock('Postgres');
  readonly #observer: LogObserver;
  readonly #writers: readonly PartitionWriter[];
  /** The offset after the last event that this process stored, by partition. */
  readonly #landed = new Map<number, bigint>();
  /** By partition. */
  readonly #held: HeldTeams[];
  readonly #queue: AppendQueue;
  /** Reads the heads of the log and the progress of the read model. */
  readonly #looks: SharedRuns<readonly Head[]>;
  readonly #catchUp: CatchUp;
  #watch: HeadWatch | null = null;
  /** Why this process no longer appends; null while it appends. */
  #lost: string | null = null;
  readonly #failure = Promise.withResolvers<string>();
  #resuming: Promise<void> | null = null;
  readonly #closing = new AbortController();

  private constructor(options: PostgresLogOptions, epochs: readonly bigint[]) {
    this.#options = options;
    const { database, projector, partitions, unknownWait, observer = noLogObserver } = options;
    this.partitions = partitions;
    this.#observer = observer;
    this.#held = allPartitions(partitions).map(() => noTeamsHeld);
    this.#queue = new AppendQueue({
      eventsMax: options.queueEventsMax,
      bytesMax: options.queueBytesMax,
      languageMax: options.languageMax,
      observer,
    });
    this.#reader = PostgresReader.over(database.pool, partitions);
    this.#looks = new SharedRuns(async () => (await database.reader.query(selectHeads, [])).rows);
    this.#catchUp = new CatchUp({
      database,
      projector,
      reader: this.#reader,
      partitions,
      epochs,
      logger: options.logger,
      observer,
      onProgress: (partition, { time, held }) => {
        this.#held[partition] = held;
        this.#writers[partition]!.noteTime(time);
      },
    });
    const catchUp = (partition: number): Promise<void> => this.catchUp(partition);
    this.#writers = allPartitions(partitions).map((partition) => {
      const onLanded = (to: number, next: bigint): void => {
        this.#landed.set(to, next);
        this.#watch?.landed(to, next);
      };
      return new PartitionWriter({
        partition,
        epoch: epochs[partition]!,
        database,
        projector,
        clock: this.#clock,
        catchUp,
        onLanded,
        unknownWait,
        observer,
      });
    });
  }

  /**
   * Opens the log and brings the read model to its end. Creates the log unless it exists. Rejects with WrongLog if the
   * read model was built from another log.
   */
  static async open(options: PostgresLogOptions, signal: AbortSignal): Promise<PostgresLog> {
    const log = new PostgresLog(
      options,
      (await readProgress(options.database.pool)).map(({ epoch }) => epoch),
    );
    await log.#start(signal);
    return log;
  }

  now(): number {
    return this.#clock.now();
  }

  nextTime(partition: number): number {
    return this.#writers[partition]!.nextTime();
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { database, logger } = this.#options;
    await createLogTables(database.pool, this.partitions);
    this.#clock.set(await nameLog(database.pool));
    for (const partition of allPartitions(this.partitions)) {
      signal.throwIfAborted();
      await proveIdentity(this, partition, await readProgressOf(database.pool, partition));
      await this.#catchUpOrHalt(partition);
    }
    await resumeInNewHistory(database, logger);
    for (const partition of allPartitions(this.partitions)) await this.#catchUpOrHalt(partition);
    const watch = new HeadWatch({
      pool: database.pool,
      logger,
      onTime: (serverTime) => this.#clock.set(serverTime),
      onHeld: (partition, held) => {
        this.#held[partition] = held;
      },
      // A halted partition would fail again, and delay catching up the others.
      onBehind: async (partition) => {
        if (!this.#catchUp.halted.has(partition)) await this.#catchUpOrHalt(partition);
      },
      onFallen: (partition, versions) => this.#lose(partition, versions),
    });
    this.#watch = watch;
    database.history.onRestarted((connection) => watch.check(connection));
  }

  /**
   * Postgres lost commits without a new history, so only a process that was running before can know. It resumes the log
   * for all processes, and must then restart.
   */
  #lose(partition: number, versions: readonly bigint[]): void {
    if (this.#lost !== null) return;
    const lost = `partition ${partition} of the log has become shorter: Postgres lost commits`;
    this.#lost = lost;
    const { pool } = this.#options.database;
    const resume = (): Promise<void> => inTransaction(pool, (client) => resumeWithin(client, versions));
    const resuming = pRetry(resume, {
      retries: Infinity,
      minTimeout: resumeDelay,
      factor: 1,
      signal: this.#closing.signal,
      shouldRetry: ({ error }) => isDatabaseAway(error),
    });
    this.#resuming = resuming.then(
      () => this.#failure.resolve(lost),
      (error: unknown) => {
        this.#options.logger.error({ err: error }, 'the log could not be resumed');
        this.#failure.resolve(`${lost}; versions may be issued again, because the log could not be resumed`);
      },
    );
  }

  onFailure(listener: (reason: string) => void): void {
    void this.#failure.promise.then(listener);
  }

  async append(partition: number, event: EncodedEvent): Promise<Outcome> {
    const observer = this.#observer;
    const queued = this.#admit(partition, event);
    const began = performance.now();
    try {
      const outcome = await this.#writers[partition]!.append(event);
      queued.left('done');
      const ms = performance.now() - began;
      observer.appended(ms);
      observer.settled(ms);
      return outcome;
    } catch (error) {
      throw reportFailure(observer, error, { partition });
    } finally {
      queued.sent();
      queued.left('failed');
    }
  }

  read(partition: number, from: bigint, to: bigint): AsyncIterable<readonly LogRecord[]> {
    return this.#reader.read(partition, from, to);
  }

  bounds(partition: number): Promise<PartitionBounds> {
    return this.#reader.bounds(partition);
  }

  readonly isCaughtUp = true;

  /** There is nothing to wait for: `open` and every append bring the read model to the end of the log. */
  async caughtUp(): Promise<void> {
    // There is nothing to wait for.
  }

  get mayBeBehind(): boolean {
    return this.#options.mayBeBehind?.() ?? false;
  }

  async reachHead(partition: number | null): Promise<void> {
    const heads = await this.#looks.run();
    const behind = heads.flatMap(({ next, projected }, at) =>
      BigInt(projected) < BigInt(next) && !this.#catchUp.halted.has(at) ? [at] : [],
    );
    await Promise.all(
      behind.filter((at) => partition === null || at === partition).map((at) => this.#catchUpOrHalt(at)),
    );
  }

  quarantinedSince(teamId: string): number | null {
    return this.#held[partitionOf(teamId, this.partitions)]!.since.get(teamId) ?? null;
  }

  problems(): readonly string[] {
    return [this.#lost, this.#clock.problem, ...[...this.#catchUp.halted.keys()].map(describeHalt)].filter(
      (problem) => problem !== null,
    );
  }

  status(): LogStatus {
    const halts = this.#writers.map((_, partition) => (this.#catchUp.halted.has(partition) ? 'not_projectable' : null));
    const oldestAppendMs = this.#writers.map((_, partition) => this.#queue.waitsIn(partition).oldestMs);
    const quarantinedTeams = this.#held.reduce((sum, { since }) => sum + since.size, 0);
    return {
      queuedEvents: this.#queue.events,
      queuedBytes: this.#queue.bytes,
      oldestAppendMs,
      halts,
      quarantinedTeams,
      kafka: null,
    };
  }

  standstills(): readonly Standstill[] {
    if (this.#lost !== null || this.#clock.problem !== null) return [];
    return this.#writers.flatMap((_, partition) => {
      const { count, undoneMs, silentMs } = this.#queue.waitsIn(partition);
      if (count === 0 || this.#catchUp.halted.has(partition)) return [];
      const landed = this.#landed.get(partition);
      const what = `${appendsWait(count)} for an outcome, ${landed === undefined ? 'and none was stored before' : `the last one was stored before offset ${landed}`}`;
      return [{ partition, what, undecidedMs: undoneMs, silentMs }];
    });
  }

  /** Projects the records of the log after the progress. Rejects with NotAppended if the partition has halted. */
  async catchUp(partition: number): Promise<void> {
    await this.#catchUp.run(partition);
  }

  /** As `catchUp`, but if the partition halts, the other partitions and the process go on. */
  async #catchUpOrHalt(partition: number): Promise<void> {
    try {
      await this.catchUp(partition);
    } catch (error) {
      if (!this.#catchUp.halted.has(partition)) throw error;
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    const { logger } = this.#options;
    await untilClosed('its reads of the log', Promise.all([this.#watch?.close(), this.#resuming]), logger);
    await untilClosed('its appends to the log', Promise.all(this.#writers.map((writer) => writer.idle())), logger);
  }

  /** Queues an event. Throws NotAppended if it cannot be accepted now. */
  #admit(partition: number, event: EncodedEvent): QueuedEvent {
    if (this.#closing.signal.aborted) throw this.#queue.refuse('stopping', 'the service is stopping', partition);
    if (this.#lost !== null) throw this.#queue.refuse('lost', this.#lost, partition);
    const differing = this.#clock.problem;
    if (differing !== null) throw this.#queue.refuse('clock', differing, partition);
    const halted = this.#catchUp.halted.get(partition);
    if (halted !== undefined) throw this.#queue.refuse('halted', halted, partition);
    if (this.#held[partition]!.since.has(teamOf(event.event.data))) {
      throw this.#queue.refuse('quarantined', heldMessage(event.event.data), partition);
    }
    return this.#queue.enter(partition, event);
  }
}
