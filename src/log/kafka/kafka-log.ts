/**
 * The log in Kafka. Any number of processes append to it. The process that owns a partition reads and decides its
 * events; the process that appended an event waits for the outcome (ARCHITECTURE.md, "Where it runs").
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type EncodedEvent } from '../../language/events/event.ts';
import { teamOf } from '../../language/events/event-names.ts';
import type { Logger } from 'pino';
import type { Database } from '../../storage/database/database.ts';
import { HistoryChanged } from '../../storage/database/history.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { Decided } from '../batch/batch.ts';
import { listenerOf } from '../projection-listener.ts';
import type { ProjectionListener } from '../project-records.ts';
import type { Projector } from '../projector.ts';
import {
  NotAppended,
  type EventLog,
  type LogRecord,
  type LogStatus,
  type PartitionBounds,
  type Standstill,
} from '../event-log.ts';
import { RecordsLost, shortLog } from '../identity.ts';
import { LogClock } from '../log-clock.ts';
import { reportFailure, noLogObserver, type LogObserver } from '../log-observer.ts';
import { allPartitions, partitionOf } from '../partition.ts';
import { untilClosed } from '../until-closed.ts';
import { AdmissionControl, type AdmissionLimits } from './admission-control.ts';
import { openConnections, type Connections } from './connections.ts';
import { Contradictions } from './contradictions.ts';
import type { GroupMembership } from './group-membership.ts';
import { isKafkaAway } from './kafka-away.ts';
import type { KafkaConnection } from './kafka-connection.ts';
import { LogEnds } from './log-ends.ts';
import { OutcomeWaiters } from './outcome-waiters.ts';
import { SharedRuns } from '../shared-runs.ts';
import { readProgress } from '../progress/progress.store.ts';
import { PartitionAppender } from './partition-appender.ts';
import { PartitionOwner } from './partition-owner.ts';
import { notificationOf } from './progress-notifications.ts';
import { ProgressWatch } from './progress-watch.ts';
import { appendsWait, Waits } from '../batch/waits.ts';

export interface KafkaLogOptions extends AdmissionLimits {
  readonly database: Database;
  readonly projector: Projector;
  /** Rejects once another read model has replaced this one, or the log has moved. */
  readonly requireReadModel: () => Promise<void>;
  readonly partitions: number;
  /** Whether processes with other read models may append; absent: they do not. */
  readonly mayBeBehind?: () => boolean;
  /** How long a request waits without any progress before its outcome is called unknown, in milliseconds. */
  readonly unknownWait: number;
  /**
   * Whether this process listens for outcomes. A process that answers no requests need not, and each listener costs all
   * processes a little.
   */
  readonly listens: boolean;
  readonly logger: Logger;
  /** Notified of appends, refusals, failures and takeovers. */
  readonly observer?: LogObserver;
}

/** How long `reachHead` waits for the projection, and the interval of its checks, in milliseconds. */
const reachHeadMs = 5000;
const reachHeadLookMs = 20;

/** The connections to the brokers. */
export interface Brokers {
  connect(): Promise<KafkaConnection>;
  /** Creates the membership that assigns partitions to this process; null: this process projects none. */
  readonly membership:
    | ((onAssigned: (partitions: readonly number[]) => void) => Pick<GroupMembership, 'join' | 'leave'>)
    | null;
}

export class KafkaLog implements EventLog {
  readonly partitions: number;
  readonly #options: KafkaLogOptions;
  readonly #observer: LogObserver;
  readonly #connections: Connections;
  readonly #clock = new LogClock('the brokers');
  readonly #waiters: OutcomeWaiters;
  readonly #watch: ProgressWatch;
  readonly #owner: PartitionOwner;
  readonly #membership: Pick<GroupMembership, 'join' | 'leave'> | null;
  readonly #appenders: readonly PartitionAppender[];
  /** The unacknowledged sends of each partition. */
  readonly #sends: readonly Waits[];
  readonly #closing = new AbortController();
  readonly #ends: LogEnds;
  readonly #contradictions: Contradictions;
  readonly #admission: AdmissionControl;
  /** Asks the brokers for the ends of the partitions. */
  readonly #looks: SharedRuns<ReadonlyMap<number, PartitionBounds>>;
  #assigned: readonly number[] = [];
  /** The latest time that a broker gave to a record of this process, by partition. */
  readonly #sentAt: number[];
  /** When statements of a partition last timed out and were retried, by `performance.now`. */
  readonly #timedOutAt: number[];

  private constructor(options: KafkaLogOptions, { membership }: Brokers, connections: Connections) {
    this.#options = options;
    this.#observer = options.observer ?? noLogObserver;
    this.#connections = connections;
    this.partitions = options.partitions;
    this.#sentAt = allPartitions(options.partitions).map(() => 0);
    this.#timedOutAt = allPartitions(options.partitions).map(() => -Infinity);
    this.#sends = allPartitions(options.partitions).map(() => new Waits());
    const { database, projector, requireReadModel, partitions, unknownWait, listens, logger } = options;
    const { connection, reader, ends, wrong } = connections;
    this.#looks = new SharedRuns(() => connection.bounds(allPartitions(partitions)));
    this.#waiters = new OutcomeWaiters(partitions);
    this.#contradictions = new Contradictions({
      partitions,
      reader,
      connection,
      database,
      requireReadModel,
      logger,
      found: wrong,
      onFound: (partition) => this.#waiters.abandon(partition),
    });
    this.#watch = new ProgressWatch({
      database,
      waiters: this.#waiters,
      partitions,
      unknownWait,
      listens,
      logger,
      onRefreshed: (began) => this.#takeRefreshed(began),
      onFallen: (partition) => {
        this.#abandon(`the projection of partition ${partition} has gone back: Postgres lost commits`);
        this.#admission.fail();
      },
    });
    this.#ends = new LogEnds({
      connection,
      ends,
      logger,
      nextOf: (partition) => this.#watch.of(partition).next,
      onShort: (partition, end, next) => this.#contradictions.add(partition, shortLog(partition, end, next)),
    });
    this.#owner = new PartitionOwner({
      connection,
      reader,
      database,
      projector,
      requireReadModel,
      logger,
      listener: this.#listener(),
      withNotification: async (partition, records, decided, store) => {
        if (decided.held.size > 0 || !this.#waiters.waitForAll(partition, decided.outcomes.keys())) {
          return this.#watch.withNotification(notificationOf(partition, records, decided), store);
        }
        await store(null);
        return false;
      },
      onProjected: (partition, records, decided, isNotified) => this.#tell(partition, records, decided, isNotified),
      onHalted: (partition, offset, reason, error) => this.#halt(partition, offset, reason, error),
      onTakenOver: () => this.#observer.tookOver(),
    });
    this.#admission = new AdmissionControl({
      partitions,
      limits: options,
      observer: this.#observer,
      closing: this.#closing.signal,
      clock: this.#clock,
      ends: this.#ends,
      watch: this.#watch,
      contradictions: this.#contradictions,
      owner: this.#owner,
    });
    this.#membership = membership?.((assigned) => this.#assign(assigned)) ?? null;
    this.#appenders = Array.from(
      { length: partitions },
      (_, partition) =>
        new PartitionAppender({
          partition,
          connection,
          unknownWait,
          signal: this.#closing.signal,
          prove: () => this.#contradictions.prove(partition),
          onSending: (events) => this.#owner.loadAhead(partition, events),
          onSent: (records) => this.#takeSent(records),
        }),
    );
  }

  /**
   * Opens the log in an existing topic, and starts to project if `brokers` have a membership. Creates the log unless it
   * exists. Rejects if Kafka or Postgres cannot be reached.
   */
  static async over(brokers: Brokers, options: KafkaLogOptions, signal: AbortSignal): Promise<KafkaLog> {
    const connections = await openConnections(() => brokers.connect(), options.database, options.partitions);
    let log: KafkaLog | undefined;
    try {
      signal.throwIfAborted();
      log = new KafkaLog(options, brokers, connections);
      await log.#start();
      return log;
    } catch (error) {
      await (log ?? connections).close();
      throw error;
    }
  }

  now(): number {
    return this.#clock.now();
  }

  nextTime(partition: number): number {
    return Math.max(this.#clock.now(), this.#watch.of(partition).time, this.#sentAt[partition]!);
  }

  get isCaughtUp(): boolean {
    return this.#admission.isCaughtUp;
  }

  caughtUp(): Promise<void> {
    return this.#admission.caughtUp();
  }

  get mayBeBehind(): boolean {
    return this.#options.mayBeBehind?.() ?? false;
  }

  async reachHead(partition: number | null): Promise<void> {
    let ends;
    try {
      ends = await this.#looks.run();
    } catch (error) {
      if (!isKafkaAway(error)) throw error;
      // Nobody can append now, so the present read model is served.
      return;
    }
    const { pool } = this.#options.database;
    const deadline = performance.now() + reachHeadMs;
    for (;;) {
      const progress = await readProgress(pool);
      const behind = [...ends].find(
        ([of, { end }]) =>
          (partition === null || of === partition) && progress[of]!.halted === null && progress[of]!.next < end,
      );
      if (behind === undefined) return;
      if (performance.now() > deadline)
        throw new NotAppended(
          `the read model lacks events that processes of another version have appended to partition ${behind[0]}`,
        );
      await sleep(reachHeadLookMs);
    }
  }

  onFailure(listener: (reason: string) => void): void {
    this.#admission.onFailure(listener);
  }

  async append(partition: number, event: EncodedEvent): Promise<Outcome> {
    const observer = this.#observer;
    const queued = this.#admission.admit(partition, event);
    const began = performance.now();
    const wait = this.#waiters.wait(partition, event.commandId, teamOf(event.event.data), event.event.notAfter);
    let placedAt: bigint | undefined;
    // The outcome comes from the projection, possibly before the brokers acknowledge the send.
    const { next } = this.#watch.of(partition);
    const send = this.#sends[partition]!.begin();
    const sent = this.#appenders[partition]!.append(event).then(
      ({ offset, time }) => {
        send.end('done');
        placedAt = offset;
        wait.placedAt({ offset, time });
        observer.appended(performance.now() - began);
        // The event was sent when the progress was at `next`, so its offset cannot be lower.
        if (offset < next) {
          this.#contradictions.add(
            partition,
            new RecordsLost(
              partition,
              `a new event was given offset ${offset}, the read model is at ${next}: the log was truncated or recreated`,
            ),
          );
        }
      },
      (error: Error) => {
        send.end('failed');
        wait.fail(error);
      },
    );
    void sent.finally(() => queued.sent());
    try {
      const outcome = await wait.outcome;
      queued.left('done');
      observer.settled(performance.now() - began);
      return outcome;
    } catch (error) {
      throw reportFailure(observer, error, { partition, offset: placedAt });
    } finally {
      queued.left('failed');
    }
  }

  read(partition: number, from: bigint, to: bigint): AsyncIterable<readonly LogRecord[]> {
    return this.#connections.reader.read(partition, from, to);
  }

  async bounds(partition: number): Promise<PartitionBounds> {
    return this.#connections.reader.bounds(partition);
  }

  quarantinedSince(teamId: string): number | null {
    return this.#watch.of(partitionOf(teamId, this.partitions)).held.since.get(teamId) ?? null;
  }

  problems(): readonly string[] {
    return this.#admission.problems();
  }

  status(): LogStatus {
    return this.#admission.status();
  }

  /**
   * The waiting sends to the brokers, and the waiting projections of this process. Waits for outcomes of another
   * process are left out: they last at most `unknownWait`.
   */
  standstills(): readonly Standstill[] {
    return allPartitions(this.partitions).flatMap((partition) => {
      if (this.#admission.explains(partition)) return [];
      return [...this.#unsent(partition), ...this.#unprojected(partition)];
    });
  }

  #unsent(partition: number): Standstill[] {
    const { count, undoneMs, silentMs } = this.#sends[partition]!;
    if (count === 0) return [];
    const what = `${appendsWait(count)} for the brokers, the log ends at offset ${this.#ends.endOf(partition)}`;
    return [
      {
        partition,
        what,
        undecidedMs: undoneMs,
        silentMs: Math.min(silentMs, performance.now() - this.#appenders[partition]!.failedAt),
      },
    ];
  }

  #unprojected(partition: number): Standstill[] {
    const undecidedMs = this.#ends.standsFor(partition);
    if (undecidedMs === 0 || !this.#owner.hasAssigned(partition)) return [];
    const what = `this process projects it, and ${this.#ends.lagOf(partition)} events wait since offset ${this.#watch.of(partition).next}`;
    return [
      {
        partition,
        what,
        undecidedMs,
        silentMs: Math.min(undecidedMs, performance.now() - this.#lastFailure(partition)),
      },
    ];
  }

  #lastFailure(partition: number): number {
    return Math.max(this.#owner.failedAt(partition), this.#timedOutAt[partition]!);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiters.giveUp(0);
    const { logger } = this.#options;
    await untilClosed('its membership in the consumer group', this.#membership?.leave(), logger);
    await this.#owner.close();
    await untilClosed('its sends to Kafka', Promise.all(this.#appenders.map((appender) => appender.idle())), logger);
    await untilClosed(
      'its reads of the progress',
      Promise.all([this.#watch.close(), this.#ends.close(), this.#contradictions.close()]),
      logger,
    );
    await untilClosed('its connections to Kafka', this.#connections.close(), logger);
    this.#admission.close();
  }

  async #start(): Promise<void> {
    await Promise.all([this.#watch.start(), this.#contradictions.watchEpochs()]);
    this.#options.database.history.onRestarted(async (connection) => {
      await this.#watch.refresh(connection);
      if (this.#admission.lost !== null) throw new HistoryChanged(this.#admission.lost);
    });
    // When a process is drained, it hears of the change elsewhere.
    this.#options.database.history.onChanged((reason) => this.#abandon(reason));
    this.#membership?.join();
    this.#ends.start();
  }

  #listener(): ProjectionListener {
    const listener = listenerOf(this.#options.logger, this.#observer);
    return {
      ...listener,
      timedOut: (records, error) => {
        this.#timedOutAt[records[0]!.partition] = performance.now();
        listener.timedOut(records, error);
      },
    };
  }

  /** Takes no more events and rejects all waits for outcomes, because this process can no longer read outcomes. */
  #abandon(reason: string): void {
    this.#admission.lose(reason);
    this.#waiters.giveUp(0);
  }

  #assign(partitions: readonly number[]): void {
    this.#options.logger.info({ partitions }, 'the consumer group has assigned the partitions');
    this.#assigned = partitions;
    this.#owner.assign(partitions.filter((partition) => this.#contradictions.of(partition) === null));
  }

  /** Takes a read of the progress of all partitions. Continues with partitions that an operator has resumed. */
  #takeRefreshed(began: number): void {
    const resumed = this.#contradictions.refresh((partition) => this.#watch.of(partition).contradicted, began);
    if (resumed.length > 0) this.#assign(this.#assigned);
    this.#admission.checkCaughtUp();
  }

  /** Handles records that this process has just appended. */
  #takeSent(records: readonly LogRecord[]): void {
    const { partition, offset, time } = records.at(-1)!;
    this.#clock.set(time);
    this.#sentAt[partition] = Math.max(this.#sentAt[partition]!, time);
    this.#ends.heard(partition, offset + 1n);
    this.#observer.batchAppended(records.length);
    this.#owner.offerSent(records);
  }

  /**
   * Settles this process's own requests for records that it has just projected, and notifies other processes of the
   * rest.
   */
  #tell(partition: number, records: readonly LogRecord[], decided: Decided | null, isNotified: boolean): void {
    const notification = notificationOf(partition, records, decided);
    const { from, next } = notification;
    this.#watch.moved(partition, next);
    this.#observer.batchProjected(records.length);
    if (decided === null) {
      this.#watch.lookUp(partition);
      this.#watch.notify(notification);
      return;
    }
    let others = records.length;
    for (const commandId of decided.held) this.#waiters.hold(partition, commandId);
    for (const [commandId, outcome] of decided.outcomes) {
      if (this.#waiters.settle(partition, commandId, outcome)) others -= 1;
    }
    this.#waiters.advance(partition, from, next);
    // All outcomes, because another process may wait for the same command.
    if (others > 0 && !isNotified) this.#watch.notify(notification);
    this.#admission.checkCaughtUp();
  }

  #halt(partition: number, offset: bigint, reason: string, error: Error): void {
    this.#watch.halted(partition, reason);
    if (error instanceof RecordsLost) return this.#contradictions.add(partition, error);
    this.#options.logger.fatal(
      { partition, offset: String(offset), err: error },
      'a partition has halted: its log cannot be projected any further',
    );
  }
}
