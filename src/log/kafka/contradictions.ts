/**
 * The partitions whose log contradicts the read model: another log, or one that lost records. They take no events.
 * Where records are lost, that is stored for all processes, and holds until an operator has resumed the log or rebuilt
 * the read model.
 */
import pRetry from 'p-retry';
import type { Logger } from 'pino';
import type { Database } from '../../storage/database/database.ts';
import { isDatabaseAway } from '../../storage/database/database-away.ts';
import { NotAppended } from '../event-log.ts';
import { proveIdentityTwice, RecordsLost, WrongLog, type LedLog } from '../identity.ts';
import type { KafkaConnection } from './kafka-connection.ts';
import { allPartitions } from '../partition.ts';
import { SharedRuns } from '../shared-runs.ts';
import { fenceOff, noteContradicted, readProgress } from '../progress/progress.store.ts';

/** How long to wait before a halt is noted again, in milliseconds. */
const noteDelay = 200;

/** An epoch of a partition, and the doubts about the partition before it was read. */
interface SeenEpoch {
  readonly doubts: number;
  readonly epoch: bigint;
}

interface ContradictionsOptions {
  readonly partitions: number;
  readonly reader: LedLog;
  readonly connection: Pick<
    KafkaConnection,
    'doubtsAbout' | 'doubtsWhileConnected' | 'reachLeader' | 'leaderOf' | 'findLeaderAnew'
  >;
  readonly database: Pick<Database, 'pool'>;
  /** Rejects once this process uses another read model, or log, than the present one: what it finds counts no more. */
  readonly requireReadModel: () => Promise<void>;
  readonly logger: Logger;
  /** Those found at the start, and why. */
  readonly found: ReadonlyMap<number, WrongLog>;
  /** Called when a partition is found to contradict the read model. */
  readonly onFound: (partition: number) => void;
}

export class Contradictions {
  readonly #options: ContradictionsOptions;
  /** As found by this process, and why. */
  readonly #found = new Map<number, WrongLog>();
  /** Those that are stored, for all processes, and since when, as far as known (by `performance.now`). */
  readonly #stored = new Map<number, number>();
  /** The doubts about a partition when it was last proved here. */
  readonly #provenAt = new Map<number, number>();
  /** The epochs that were read last, and shared reads of those of all partitions. */
  readonly #seen = new Map<number, SeenEpoch>();
  readonly #looks: SharedRuns<void>;
  readonly #noting = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: ContradictionsOptions) {
    this.#options = options;
    this.#looks = new SharedRuns(() => this.#readEpochs());
    for (const [partition, error] of options.found) this.add(partition, error);
  }

  /** How the log of a partition contradicts the read model, as found by this process; null if it does not. */
  of(partition: number): string | null {
    return this.#found.get(partition)?.message ?? null;
  }

  /** Whether this process has found that the partition lost records. */
  hasLost(partition: number): boolean {
    return this.#found.get(partition) instanceof RecordsLost;
  }

  /**
   * Connects to the brokers that lead the partitions, and reads the epochs. What raises one of them from then on, as
   * long as there is no new doubt about the partition, serves this process as a fence. Rejects when Postgres is away.
   */
  async watchEpochs(): Promise<void> {
    const { partitions, connection } = this.#options;
    // What cannot be reached yet is watched from the first append on.
    await Promise.allSettled(allPartitions(partitions).map((partition) => connection.reachLeader(partition)));
    await this.#looks.run();
  }

  /**
   * At first, and whenever a connection broke or another broker leads: proves that the partition still has all that was
   * projected of it, before anything is appended. Else new events would take the offsets, and versions, of lost ones.
   * The owner of the partition is fenced off first: it may be about to store records that it read before they were
   * lost. A fence or a takeover by any process will do, if it came after the last doubt. Rejects with NotAppended.
   */
  async prove(partition: number): Promise<void> {
    const { reader, connection, database } = this.#options;
    for (;;) {
      const doubts = connection.doubtsAbout(partition);
      if (doubts === this.#provenAt.get(partition)) return;
      try {
        const seen = await this.#epochSince(partition, doubts);
        const asked = await proveIdentityTwice(reader, partition, await fenceOff(database.pool, partition, seen));
        // The reader has connections of its own, and may have asked a leader that was deposed.
        if (asked !== connection.leaderOf(partition)) {
          await Promise.all([reader.findLeaderAnew(partition), connection.findLeaderAnew(partition)]);
          throw new Error('another broker leads it than was asked');
        }
      } catch (error) {
        if (error instanceof WrongLog) this.add(partition, error);
        throw new NotAppended(`it is not certain that partition ${partition} of the log is complete`, { cause: error });
      }
      // By now there may be new doubts.
      this.#provenAt.set(partition, doubts);
    }
  }

  /** The log of the partition is another one than was projected, or lost a part. */
  add(partition: number, error: WrongLog): void {
    if (this.#found.has(partition)) return;
    const { message } = error;
    this.#found.set(partition, error);
    this.#options.onFound(partition);
    this.#options.logger.fatal({ partition }, message);
    if (error instanceof RecordsLost) this.#store(partition, message);
  }

  /**
   * The progress was read, from `began` on, and says which partitions are stored as contradicted. Returns those that an
   * operator has resumed since.
   */
  refresh(isStored: (partition: number) => boolean, began: number): readonly number[] {
    const resumed = [...this.#stored].flatMap(([partition, since]) =>
      since < began && !isStored(partition) ? [partition] : [],
    );
    for (const partition of resumed) {
      this.#stored.delete(partition);
      this.#found.delete(partition);
    }
    for (const partition of allPartitions(this.#options.partitions)) {
      if (isStored(partition) && !this.#stored.has(partition)) this.#stored.set(partition, began);
    }
    return resumed;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#noting);
  }

  /**
   * An epoch of the partition that was read when there were these doubts about it already, over a connection whose
   * break is a new doubt. Rejects while the broker that leads it cannot be reached: then the owner is left alone.
   */
  async #epochSince(partition: number, doubts: number): Promise<bigint> {
    const isNew = (seen: SeenEpoch | undefined): seen is SeenEpoch => seen !== undefined && seen.doubts >= doubts;
    const before = this.#seen.get(partition);
    if (isNew(before)) return before.epoch;
    await this.#options.connection.reachLeader(partition);
    await this.#looks.run();
    const seen = this.#seen.get(partition);
    if (isNew(seen)) return seen.epoch;
    throw new Error('the connection to the broker that leads it has broken');
  }

  async #readEpochs(): Promise<void> {
    const { partitions, connection, database } = this.#options;
    // Before the epochs: a doubt that comes meanwhile may be newer than they are.
    const doubts = allPartitions(partitions).map((partition) => connection.doubtsWhileConnected(partition));
    const progress = await readProgress(database.pool);
    for (const partition of allPartitions(partitions)) {
      const now = doubts[partition]!;
      // While there is no new doubt, the older epoch stays: more fences are above it.
      if (now !== null && now > (this.#seen.get(partition)?.doubts ?? -1))
        this.#seen.set(partition, { doubts: now, epoch: progress[partition]!.epoch });
    }
  }

  /** For all processes, and for those that are started later. */
  #store(partition: number, reason: string): void {
    const {
      database: { pool },
      requireReadModel,
      logger,
    } = this.#options;
    const { signal } = this.#closing;
    const note = async (): Promise<void> => {
      // The log may have moved to another topic, and the one that is short is this process's own.
      await requireReadModel();
      await noteContradicted(pool, partition, reason);
    };
    const noting = pRetry(note, {
      retries: Infinity,
      minTimeout: noteDelay,
      factor: 1,
      signal,
      shouldRetry: ({ error }) => isDatabaseAway(error),
    })
      .then(() => {
        // An operator may resume it before this process reads the progress again.
        this.#stored.set(partition, performance.now());
      })
      .catch((error: unknown) => {
        if (!signal.aborted) logger.error({ partition, err: error }, 'a halt could not be noted');
      })
      .finally(() => this.#noting.delete(noting));
    this.#noting.add(noting);
  }
}
