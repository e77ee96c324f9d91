/**
 * A simulated process of the service: the real log and the real path of a request through it, on models of Kafka and
 * Postgres.
 */
import { pino } from 'pino';
import { KafkaLog } from '../../src/log/kafka/kafka-log.ts';
import { PostgresLog } from '../../src/log/postgres/postgres-log.ts';
import { ReadModelReplaced, rememberReadModel } from '../../src/log/read-model.ts';
import { openQueries } from '../../src/log/model.ts';
import { OutcomeQueries } from '../../src/log/outcomes/outcomes.queries.ts';
import { Projector } from '../../src/log/projector.ts';
import { models, readModelSchema } from '../../projections/models.ts';
import { Jobs } from '../../src/api/http/submit/jobs.ts';
import { readMoves, rememberMoves } from '../../src/log/postgres/log-place.ts';
import { LogPlaceWatch } from '../../src/app/log-place-watch.ts';
import { openShares } from '../../src/api/http/limits/shares.ts';
import { Submitter } from '../../src/api/http/submit/submitter.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { KafkaConnection } from '../../src/log/kafka/kafka-connection.ts';
import { keysOf } from '../support/secret-keys.ts';
import type { ProcessRole } from '../support/server.ts';
import { clock, SimulatedProcess } from './clock.ts';
import { connectTo } from './cluster.ts';
import type { ConsumerGroup } from './consumer-group.ts';
import { SimulatedDatabase } from './database.ts';
import { requirePlace } from './operator.ts';
import { partitions } from './partitions.ts';
import type { World } from './world.ts';

const logger = pino({ level: process.env['LOG_LEVEL'] ?? 'silent' });
const keys = keysOf(1);

const shareSettings = {
  OUTCOME_WAIT_MS: 10_000,
  RESPONSE_BYTES_MAX: 1e8,
  APPEND_QUEUE_EVENTS_MAX: 1000,
  APPEND_QUEUE_BYTES_MAX: 1e8,
  CONNECTIONS_MAX: 100,
};

/** How long after a failure a process ends, in milliseconds. */
const drainTime = 1000;

/** How often a process checks whether its read model was replaced, in milliseconds. */
const lookInterval = 500;

export interface Serving {
  readonly log: EventLog;
  readonly submitter: Submitter;
  readonly jobs: Jobs;
  readonly queries: ReturnType<typeof openQueries<typeof models>>;
}

interface PlaceOptions {
  /** A consumer group other than that of the other places. */
  readonly group?: ConsumerGroup | null;
  /**
   * The schema of its read model, if it differs from that of the other places: then this is another version of the
   * service.
   */
  readonly readModel?: string;
}

/** A place in which a process runs. When a process ends, a supervisor starts the next one. */
export class Place {
  readonly #world: World;
  readonly role: ProcessRole;
  readonly #ownGroup: ConsumerGroup | null;
  #serving: Serving | null = null;
  #process: SimulatedProcess | null = null;
  #database: SimulatedDatabase | null = null;
  readonly readModel: string;
  readonly name: string;
  #starts = 0;
  #isStopped = false;
  /** How far the clock of its machine is ahead, in milliseconds. */
  skew = 0;
  /** Rejects when the present process ends. */
  ended = Promise.withResolvers<never>();

  constructor(world: World, role: ProcessRole, { group = null, readModel = readModelSchema }: PlaceOptions = {}) {
    this.#world = world;
    this.role = role;
    this.#ownGroup = group;
    this.readModel = readModel;
    this.name = `${role} ${(world.places += 1)}`;
    this.start();
  }

  /** The parts that serve requests; null while it starts. */
  get serving(): Serving | null {
    return this.role !== 'projector' && this.#serving?.log.isCaughtUp ? this.#serving : null;
  }

  /** Whether the process that served has ended. */
  hasEnded(serving: Serving): boolean {
    return this.#serving !== serving;
  }

  get #group(): ConsumerGroup | null {
    return this.#ownGroup ?? this.#world.kafka?.group ?? null;
  }

  get log(): EventLog | null {
    return this.#serving?.log ?? null;
  }

  start(): void {
    this.#isStopped = false;
    this.#starts += 1;
    const process = new SimulatedProcess(`${this.name}, start ${this.#starts}`);
    process.skew = this.skew;
    this.#process = process;
    this.ended = Promise.withResolvers();
    this.ended.promise.catch(() => undefined);
    process.run(() => void this.#open(process));
  }

  /** Ends the process at once. Its supervisor starts the next one after a while. */
  kill(): void {
    const process = this.#process;
    if (process === null) return;
    process.kill();
    this.#process = null;
    this.#serving = null;
    this.#database?.cut();
    if (this.#database !== null) this.#world.waits.databases.delete(this.#database);
    this.#group?.silence(process);
    this.ended.reject(new Error('the process has ended'));
    clock.schedule(this.#world.random.between(10, 3000), () => (this.#isStopped ? undefined : this.start()), null);
  }

  /** Pauses the process for this many milliseconds. */
  pause(ms: number): void {
    const process = this.#process;
    if (process === null) return;
    process.pause();
    const join = this.#group?.silence(process);
    clock.schedule(
      ms,
      () => {
        process.resume();
        if (process.isAlive) join?.();
      },
      null,
    );
  }

  cut(): void {
    this.#database?.cut();
  }

  /** From now on the clock of its machine is ahead by this many milliseconds. */
  setClock(skew: number): void {
    this.skew = skew;
    if (this.#process !== null) this.#process.skew = skew;
  }

  /** Ends it for good. */
  stop(): void {
    this.#isStopped = true;
    this.kill();
  }

  async #open(process: SimulatedProcess): Promise<void> {
    const { postgres, waits } = this.#world;
    const database = new SimulatedDatabase(postgres, process, this.readModel);
    this.#database = database;
    waits.databases.add(database);
    const fail = (): void => {
      if (this.#process === process) this.#drain(process);
    };
    database.history.onChanged(fail);
    try {
      await this.#requirePlace(database, process);
      const isReadModel = await rememberReadModel(database.asDatabase);
      this.#watchReadModel(isReadModel, () => this.#endSoon(process));
      const isLog = this.#world.moves ? await rememberMoves(database.pool) : null;
      const requireReadModel = async (): Promise<void> => {
        await isReadModel();
        await isLog?.();
      };
      const log = await this.#openLog(database, process, requireReadModel);
      const shares = openShares(shareSettings, () => undefined);
      log.onFailure(fail);
      const outcomes = new OutcomeQueries(database.asDatabase);
      this.#serving = {
        log,
        submitter: new Submitter(log, keys, { shares, outcomes, asyncWaitMs: 1000, logger }),
        jobs: new Jobs({ log, outcomes, keys, notes: { list: () => Promise.reject(new Error('not asked')) } }),
        queries: openQueries(models, database.asDatabase),
      };
    } catch (error) {
      logger.warn({ err: error, process: process.name }, 'the process could not start');
      // At the time when the supervisor notices.
      clock.schedule(1000, fail);
    }
  }

  /** Rejects if the log is no longer where the settings say. Ends the process when the log moves away later. */
  async #requirePlace({ pool }: SimulatedDatabase, process: SimulatedProcess): Promise<void> {
    const { moves, log } = this.#world;
    if (!moves) return;
    await requirePlace(pool, log);
    new LogPlaceWatch(pool, log, await readMoves(pool)).onMoved(() => this.#endSoon(process));
  }

  /** As in the service, which then opens the new read model. It checks only after a change. */
  #watchReadModel(requireReadModel: () => Promise<void>, onReplaced: () => void): void {
    const { postgres } = this.#world;
    let seen = postgres.schemaChanges;
    let isLooking = false;
    setInterval(() => {
      const { schemaChanges } = postgres;
      if (schemaChanges === seen || isLooking) return;
      isLooking = true;
      requireReadModel()
        .then(
          () => {
            seen = schemaChanges;
          },
          (error: unknown) => (error instanceof ReadModelReplaced ? onReplaced() : undefined),
        )
        .finally(() => {
          isLooking = false;
        });
    }, lookInterval);
  }

  /** After a failure: it takes no more requests, and ends after a while. By then it has answered its requests. */
  #drain(process: SimulatedProcess): void {
    const log = this.#serving?.log;
    this.#serving = null;
    clock.schedule(
      drainTime,
      () => {
        if (this.#process !== process) return;
        const waiting = log?.status().queuedEvents ?? 0;
        if (waiting > 0)
          this.#world.problems.push(`${waiting} requests wait for outcomes that ${process.name} cannot hear any more`);
        this.kill();
      },
      process,
    );
  }

  /**
   * It must restart although nothing has failed: it takes no more requests, and answers its present ones as well as it
   * can.
   */
  #endSoon(process: SimulatedProcess): void {
    if (this.#process !== process) return;
    const submitter = this.#serving?.submitter;
    this.#serving = null;
    clock.schedule(drainTime, () => submitter?.giveUp(), process);
    clock.schedule(drainTime + 100, () => (this.#process === process ? this.kill() : undefined), process);
  }

  #openLog(
    database: SimulatedDatabase,
    process: SimulatedProcess,
    requireReadModel: () => Promise<void>,
  ): Promise<EventLog> {
    const common = {
      database: database.asDatabase,
      projector: new Projector(models),
      partitions,
      logger: logger.child({ process: process.name }),
      queueEventsMax: 1000,
      queueBytesMax: 1e8,
      unknownWait: 10_000,
    };
    const { signal } = new AbortController();
    const { log, kafka } = this.#world;
    if (log === 'postgres') return PostgresLog.open(common, signal);
    return KafkaLog.over(
      {
        connect: () => KafkaConnection.over(connectTo(kafka!.brokers, process), 'log'),
        membership: this.role === 'api' ? null : this.#group!.membershipOf(process),
      },
      { ...common, requireReadModel, lagEventsMax: 100_000, listens: this.role !== 'projector' },
      signal,
    );
  }
}
