/**
 * The log in Kafka. Any number of processes append to it. The process that owns a partition reads and decides its events; the process
 * that appended an event waits for the outcome (ARCHITECTURE.md, "Where it runs").
 */
import type { EncodedEvent } from '../../../src/events/event.ts';
import type { Logger } from 'pino';
import type { Database } from '../../../src/database/database.ts';
import { HistoryChanged } from '../../../src/database/history.ts';
import type { Outcome } from '../../../src/events/outcome.ts';
import type { Projected, Projector } from '../projector.ts';
import { NotAppended } from '../../../src/log/event-log.ts';
import type { EventLog, LogRecord, LogStatus, PartitionBounds } from '../../../src/log/event-log.ts';
import { RecordsLost, shortLog, type WrongLog } from '../../../src/log/identity.ts';
import { LogClock } from '../../../src/log/log-clock.ts';
import { fail, noLogObserver, type LogObserver, type RefusalReason } from '../../../src/log/log-observer.ts';
import { allPartitions } from '../../../src/log/partition.ts';
import { AppendQueue, type QueuedEvent } from '../append-queue.ts';
import { beginLog, findWrongPartitions } from './begin-log.ts';
import { Contradictions } from './contradictions.ts';
import { GroupMembership, hasMembers } from '../../../src/log/kafka/group-membership.ts';
import { createKafka, whenSettled, withAdmin, type KafkaSettings } from '../../../src/log/kafka/kafka-client.ts';
import { KafkaConnection } from '../../../src/log/kafka/kafka-connection.ts';
import { KafkaReader } from '../../../src/log/kafka/kafka-reader.ts';
import { LogEnds } from '../../../src/log/kafka/log-ends.ts';
import { OutcomeWaiters } from './outcome-waiters.ts';
import { PartitionAppender } from '../../../src/log/kafka/partition-appender.ts';
import { PartitionOwner } from './partition-owner.ts';
import type { ProgressNotification } from './progress-notifications.ts';
import { ProgressWatch } from './progress-watch.ts';
import { ensureTopic } from '../../../src/log/kafka/topic.ts';

export interface KafkaEngineOptions {
  readonly database: Database;
  readonly projector: Projector;
  readonly partitions: number;
  /** How many events may wait for their outcome, and how many bytes to be sent, over all partitions; past either, appends are refused. */
  readonly queueEventsMax: number;
  readonly queueBytesMax: number;
  /** How many events the projection of a partition may be behind; past it, appends to the partition are refused. */
  readonly lagEventsMax: number;
  /** How long a request waits without any progress before its outcome is called unknown, in milliseconds. */
  readonly unknownWait: number;
  /** Whether it hears of outcomes at once. A process that answers no requests need not, and each one that does costs all a little. */
  readonly listens: boolean;
  readonly logger: Logger;
  /** Notified of appends, refusals, failures and takeovers. */
  readonly observer?: LogObserver;
}

export interface OpenOptions extends KafkaEngineOptions {
  readonly kafka: KafkaSettings;
  /** Whether this process projects partitions: always, never, or only if no other process does at the start. */
  readonly projects: boolean | 'unless others do';
}

/** The way to the brokers. */
export interface Brokers {
  connect(): Promise<KafkaConnection>;
  /** Has partitions assigned to this process; null if it should not project any. */
  readonly membership: ((onAssigned: (partitions: readonly number[]) => void) => Pick<GroupMembership, 'join' | 'leave'>) | null;
}

/** The connections of the log. */
interface Connections {
  readonly connection: KafkaConnection;
  readonly reader: KafkaReader;
}

export class KafkaEngine implements EventLog {
  readonly partitions: number;
  readonly #options: KafkaEngineOptions;
  readonly #observer: LogObserver;
  readonly #connections: Connections;
  readonly #clock = new LogClock('the brokers');
  readonly #waiters: OutcomeWaiters;
  readonly #watch: ProgressWatch;
  readonly #owner: PartitionOwner;
  readonly #membership: Pick<GroupMembership, 'join' | 'leave'> | null;
  readonly #appenders: readonly PartitionAppender[];
  readonly #closing = new AbortController();
  readonly #caughtUp = Promise.withResolvers<void>();
  readonly #ends: LogEnds;
  readonly #contradictions: Contradictions;
  #assigned: readonly number[] = [];
  /** The latest time that a broker gave to a record of this process, by partition. */
  readonly #sentAt: number[];
  /** Why this process has to start anew; null while it need not. */
  #lost: string | null = null;
  readonly #failure = Promise.withResolvers<string>();
  #isCaughtUp = false;
  readonly #queue: AppendQueue;

  private constructor(
    options: KafkaEngineOptions,
    { membership }: Brokers,
    connections: Connections,
    ends: readonly bigint[],
    wrong: ReadonlyMap<number, WrongLog>,
  ) {
    this.#options = options;
    this.#observer = options.observer ?? noLogObserver;
    this.#queue = new AppendQueue({ eventsMax: options.queueEventsMax, bytesMax: options.queueBytesMax, observer: this.#observer });
    this.#connections = connections;
    this.partitions = options.partitions;
    this.#sentAt = allPartitions(options.partitions).map(() => 0);
    const { database, projector, partitions, unknownWait, listens, logger } = options;
    const { connection, reader } = connections;
    this.#waiters = new OutcomeWaiters(partitions);
    this.#contradictions = new Contradictions({
      partitions, reader, connection, database, logger, found: wrong, onFound: (partition) => this.#waiters.abandon(partition),
    });
    this.#watch = new ProgressWatch({
      database, waiters: this.#waiters, partitions, unknownWait, listens, logger,
      onRefreshed: (began) => this.#takeRefreshed(began),
      onFallen: (partition) => this.#lose(`the projection of partition ${partition} is behind where it was: Postgres lost commits`),
    });
    this.#ends = new LogEnds({
      connection, ends, logger, nextOf: (partition) => this.#watch.of(partition).next,
      onShort: (partition, end, next) => this.#contradictions.add(partition, shortLog(partition, end, next)),
    });
    this.#owner = new PartitionOwner({
      connection, reader, database, projector, logger,
      withNotification: async (partition, records, outcomes, store) => {
        if (!this.#waiters.waitForAll(partition, outcomes.keys())) {
          return this.#watch.withNotification(notificationOf(partition, records, outcomes), store);
        }
        await store(null);
        return false;
      },
      onProjected: (partition, records, outcomes, isNotified) => this.#tell(partition, records, outcomes, isNotified),
      onHalted: (partition, offset, reason, error) => this.#halt(partition, offset, reason, error),
      onTakenOver: () => this.#observer.tookOver(),
    });
    this.#membership = membership?.((assigned) => this.#assign(assigned)) ?? null;
    this.#appenders = Array.from({ length: partitions }, (_, partition) => new PartitionAppender({
      partition, connection, unknownWait, signal: this.#closing.signal, prove: () => this.#contradictions.prove(partition), onSending: (events) => this.#owner.loadAhead(partition, events),
      onSent: (records) => this.#takeSent(records),
    }));
  }

  /**
   * Opens the log, and starts to project if this process should. Creates the topic and the log in it unless they exist. Rejects with
   * UnsafeTopic when the topic could lose events, and when Kafka or Postgres cannot be reached.
   */
  static async open(options: OpenOptions, signal: AbortSignal): Promise<KafkaEngine> {
    const { kafka: settings, logger, partitions } = options;
    const { topic, group } = settings;
    const kafka = createKafka(settings, logger);
    const projects = await withAdmin(kafka, async (admin) => {
      await whenSettled(() => ensureTopic(admin, settings, partitions));
      return options.projects === 'unless others do' ? !(await hasMembers(admin, group)) : options.projects;
    });
    signal.throwIfAborted();
    return KafkaEngine.over({
      connect: () => KafkaConnection.open(kafka, topic),
      membership: projects ? (onAssigned) => new GroupMembership({ kafka, topic, group, logger, onAssigned }) : null,
    }, options, signal);
  }

  /** The same on a topic that exists. */
  static async over(brokers: Brokers, options: KafkaEngineOptions, signal: AbortSignal): Promise<KafkaEngine> {
    const { database, partitions } = options;
    const connection = await brokers.connect();
    let reader: KafkaReader | undefined;
    let log: KafkaEngine | undefined;
    try {
      reader = new KafkaReader(await brokers.connect(), partitions);
      await beginLog(database, connection, reader);
      const wrong = await findWrongPartitions(database, reader);
      const bounds = await connection.bounds(allPartitions(partitions));
      const ends = allPartitions(partitions).map((partition) => bounds.get(partition)!.end);
      signal.throwIfAborted();
      log = new KafkaEngine(options, brokers, { connection, reader }, ends, wrong);
      await log.#start();
      return log;
    } catch (error) {
      if (log) await log.close();
      else await Promise.all([connection.close(), reader?.close()]);
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
    return this.#isCaughtUp;
  }

  async caughtUp(): Promise<void> {
    await this.#caughtUp.promise;
  }

  onFailure(listener: (reason: string) => void): void {
    void this.#failure.promise.then(listener);
  }

  async append(partition: number, event: EncodedEvent): Promise<Outcome> {
    const observer = this.#observer;
    const queued = this.#admit(partition, event);
    const began = performance.now();
    const wait = this.#waiters.wait(partition, event.commandId, event.event.notAfter);
    let placedAt: bigint | undefined;
    // The outcome comes from the projection, possibly before the brokers acknowledge the send.
    const { next } = this.#watch.of(partition);
    const sent = this.#appenders[partition]!.append(event).then(
      ({ offset, time }) => {
        placedAt = offset;
        wait.placedAt({ offset, time });
        observer.appended(performance.now() - began);
        // The event was sent after the progress was `next`, so its offset cannot be lower.
        if (offset < next) {
          this.#contradictions.add(partition, new RecordsLost(partition, `a new event was given offset ${offset}, the read model is at ${next}: the log was cut, or made anew`));
        }
      },
      (error: Error) => wait.fail(error),
    );
    void sent.finally(() => queued.sent());
    try {
      const outcome = await wait.outcome;
      observer.settled(performance.now() - began);
      return outcome;
    } catch (error) {
      throw fail(observer, error, { partition, offset: placedAt });
    } finally {
      queued.left();
    }
  }

  read(partition: number, from: bigint, to: bigint): AsyncIterable<readonly LogRecord[]> {
    return this.#connections.reader.read(partition, from, to);
  }

  async bounds(partition: number): Promise<PartitionBounds> {
    return this.#connections.reader.bounds(partition);
  }

  problems(): readonly string[] {
    const partitions = allPartitions(this.partitions);
    const problems = partitions.flatMap((partition) => this.#haltOf(partition) ?? []);
    if (!this.#isCaughtUp) {
      const left = partitions.reduce((sum, partition) => sum + this.#ends.leftOf(partition), 0);
      problems.push(`The read model is being brought to the end of the log: ${left} events to go.`);
    }
    if (this.#lost !== null) problems.push(this.#lost);
    const clockProblem = this.#clockProblem();
    if (clockProblem !== null) problems.push(clockProblem);
    if (this.#ends.away) problems.push('Kafka cannot be reached.');
    const unattended = this.#ends.unattended().filter((partition) => this.#haltOf(partition) === null);
    if (unattended.length > 0) problems.push(`Nobody projects partition ${unattended.join(', ')}: is there a projector that runs?`);
    return problems;
  }

  status(): LogStatus {
    const partitions = allPartitions(this.partitions);
    const owned = new Set(this.#owner.partitions);
    return {
      queuedEvents: this.#queue.events, queuedBytes: this.#queue.bytes,
      halted: partitions.map((partition) => this.#haltOf(partition) !== null),
      kafka: {
        isReachable: this.#ends.away === null,
        lag: partitions.map((partition) => this.#ends.lagOf(partition)),
        owned: partitions.map((partition) => owned.has(partition)),
      },
    };
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#waiters.giveUp(0);
    await this.#membership?.leave();
    await this.#owner.close();
    await Promise.all(this.#appenders.map((appender) => appender.idle()));
    await Promise.all([this.#watch.close(), this.#ends.close(), this.#contradictions.close()]);
    await Promise.all([this.#connections.connection.close(), this.#connections.reader.close()]);
    this.#caughtUp.reject(new NotAppended('the service is stopping'));
  }

  async #start(): Promise<void> {
    // Avoids an unhandled rejection when nobody waits for it.
    this.#caughtUp.promise.catch(() => undefined);
    await this.#watch.start();
    this.#options.database.history.onRestarted(async (connection) => {
      await this.#watch.refresh(connection);
      if (this.#lost !== null) throw new HistoryChanged(this.#lost);
    });
    this.#membership?.join();
    this.#ends.start();
  }

  /** Queues an event. Throws NotAppended when it cannot be accepted now: before the send, while it is certain that nothing happened. */
  #admit(partition: number, event: EncodedEvent): QueuedEvent {
    const no = (reason: RefusalReason, message: string): never => {
      throw this.#queue.refuse(reason, message, partition);
    };
    if (this.#closing.signal.aborted) no('stopping', 'the service is stopping');
    const halt = this.#haltOf(partition);
    if (halt !== null) no('halted', halt);
    if (!this.#isCaughtUp) no('catching_up', 'the read model is being brought to the end of the log');
    if (this.#lost !== null) no('lost', this.#lost);
    const clockProblem = this.#clockProblem();
    if (clockProblem !== null) no('clock', clockProblem);
    if (this.#ends.away) no('kafka_away', 'Kafka cannot be reached');
    if (this.#watch.away) no('postgres_away', 'Postgres cannot be reached');
    if (this.#ends.lagOf(partition) > this.#options.lagEventsMax) {
      no('projection_lag', `the projection of partition ${partition} is too far behind its log`);
    }
    return this.#queue.enter(partition, event.bytes.length);
  }

  #clockProblem(): string | null {
    return this.#clock.problem ?? this.#watch.clockProblem;
  }

  /** The log has everything, so nothing needs to be resumed: but what this process remembers of the read model is wrong. */
  #lose(reason: string): void {
    this.#lost ??= reason;
    this.#failure.resolve(this.#lost);
  }

  /** Why events for a partition are refused; null if they are not. */
  #haltOf(partition: number): string | null {
    return this.#contradictions.of(partition) ?? this.#watch.of(partition).halted;
  }

  #assign(partitions: readonly number[]): void {
    this.#options.logger.info({ partitions }, 'the group has shared the partitions out');
    this.#assigned = partitions;
    this.#owner.assign(partitions.filter((partition) => this.#contradictions.of(partition) === null));
  }

  /** The progress of all partitions was read. Partitions that an operator has resumed go on. */
  #takeRefreshed(began: number): void {
    const resumed = this.#contradictions.refresh((partition) => this.#watch.of(partition).contradicted, began);
    if (resumed.length > 0) this.#assign(this.#assigned);
    this.#checkCaughtUp();
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

  /** Settles this process's own requests for records that it has just projected, and notifies other processes of the rest. */
  #tell(partition: number, records: readonly LogRecord[], outcomes: Projected['outcomes'] | null, isNotified: boolean): void {
    const notification = notificationOf(partition, records, outcomes);
    const { from, next } = notification;
    this.#watch.moved(partition, next);
    this.#observer.batchProjected(records.length);
    if (outcomes === null) {
      this.#watch.lookUp(partition);
      this.#watch.notify(notification);
      return;
    }
    let others = records.length;
    for (const [commandId, outcome] of outcomes) {
      if (this.#waiters.settle(partition, commandId, outcome)) others -= 1;
    }
    this.#waiters.advance(partition, from, next);
    // All outcomes: another process may wait for the same command.
    if (others > 0 && !isNotified) this.#watch.notify(notification);
    this.#checkCaughtUp();
  }

  #halt(partition: number, offset: bigint, reason: string, error: Error): void {
    this.#watch.halted(partition, reason);
    if (error instanceof RecordsLost) return this.#contradictions.add(partition, error);
    this.#options.logger.fatal({ partition, offset: String(offset), err: error }, 'a partition has halted: its log cannot be projected any further');
  }

  #checkCaughtUp(): void {
    if (this.#isCaughtUp) return;
    // A halted partition can be read as it is, if it ever reached the end of its log.
    this.#isCaughtUp = allPartitions(this.partitions).every((partition) => {
      return this.#ends.leftOf(partition) === 0 || (this.#haltOf(partition) !== null && this.#watch.of(partition).caughtUp);
    });
    if (this.#isCaughtUp) this.#caughtUp.resolve();
  }
}

function notificationOf(partition: number, records: readonly LogRecord[], outcomes: Projected['outcomes'] | null): ProgressNotification {
  return { partition, from: records[0]!.offset, next: records.at(-1)!.offset + 1n, outcomes };
}
