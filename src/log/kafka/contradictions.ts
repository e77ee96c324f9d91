/**
 * The partitions whose log contradicts the read model: another log, or one that lost records. They take no events. If
 * records are lost, this is stored for all processes. It holds until an operator has resumed the log or rebuilt the
 * read model.
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

/** How long to wait before storing a halt is tried again, in milliseconds. */
const noteDelay = 200;

/** An epoch of a partition, and the doubts about the partition before the epoch was read. */
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
  /** Rejects if this process uses another read model or log than the present one. Its findings then no longer count. */
  readonly requireReadModel: () => Promise<void>;
  readonly logger: Logger;
  /** The contradictions found at the start. */
  readonly found: ReadonlyMap<number, WrongLog>;
  /** Called when this process finds that a partition contradicts the read model. */
  readonly onFound: (partition: number) => void;
}

export class Contradictions {
  readonly #options: ContradictionsOptions;
  /** The contradictions that this process found. */
  readonly #found = new Map<number, WrongLog>();
  /** The partitions that are stored as contradicted, and since when, as far as known (by `performance.now`). */
  readonly #stored = new Map<number, number>();
  /** The doubts about a partition when it was last proved here. */
  readonly #provenAt = new Map<number, number>();
  /** The epochs that were read last; and a shared read of all partitions' epochs. */
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
   * Connects to the brokers that lead the partitions, and reads the epochs. While there is no new doubt about a
   * partition, any later rise of its epoch serves this process as a fence. Rejects if Postgres is away.
   */
  async watchEpochs(): Promise<void> {
    const { partitions, connection } = this.#options;
    // Brokers that cannot be reached yet are watched from the first append on.
    await Promise.allSettled(allPartitions(partitions).map((partition) => connection.reachLeader(partition)));
    await this.#looks.run();
  }

  /**
   * Proves that the partition still has everything that was projected of it. This is needed before the first append,
   * and before an append after a connection broke or another broker took the lead: otherwise new events could take the
   * offsets, and versions, of lost ones. First it fences off the owner of the partition, which may be about to store
   * records that it read before they were lost. A fence or a takeover by any process suffices, if it came after the
   * last doubt. Rejects with NotAppended.
   */
  async prove(partition: number): Promise<void> {
    const { reader, connection, database } = this.#options;
    for (;;) {
      const doubts = connection.doubtsAbout(partition);
      if (doubts === this.#provenAt.get(partition)) return;
      try {
        const seen = await this.#epochSince(partition, doubts);
        const asked = await proveIdentityTwice(reader, partition, await fenceOff(database.pool, partition, seen));
        // The reader has its own connections, and may have asked a deposed leader.
        if (asked !== connection.leaderOf(partition)) {
          await Promise.all([reader.findLeaderAnew(partition), connection.findLeaderAnew(partition)]);
          throw new Error('another broker than the one asked leads it');
        }
      } catch (error) {
        if (error instanceof WrongLog) this.add(partition, error);
        throw new NotAppended(`it is not certain that partition ${partition} of the log is complete`, { cause: error });
      }
      // There may be new doubts in the meantime.
      this.#provenAt.set(partition, doubts);
    }
  }

  /** The log of the partition is not the one that was projected, or it lost records. */
  add(partition: number, error: WrongLog): void {
    if (this.#found.has(partition)) return;
    const { message } = error;
    this.#found.set(partition, error);
    this.#options.onFound(partition);
    this.#options.logger.fatal({ partition }, message);
    if (error instanceof RecordsLost) this.#store(partition, message);
  }

  /**
   * Takes a read of the progress that began at `began`; `isStored` tells which partitions are stored as contradicted.
   * Returns the partitions that an operator has resumed since.
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
   * An epoch of the partition that was read when there were already these doubts about it, over a connection whose
   * break is a new doubt. Rejects while the leading broker cannot be reached; then no owner is fenced off.
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
    // Before the epochs are read, because a doubt that arises meanwhile may be newer than they are.
    const doubts = allPartitions(partitions).map((partition) => connection.doubtsWhileConnected(partition));
    const progress = await readProgress(database.pool);
    for (const partition of allPartitions(partitions)) {
      const now = doubts[partition]!;
      // While there is no new doubt, the older epoch stays, because more fences are above it.
      if (now !== null && now > (this.#seen.get(partition)?.doubts ?? -1))
        this.#seen.set(partition, { doubts: now, epoch: progress[partition]!.epoch });
    }
  }

  /** Stores it for all running processes, and for those that start later. */
  #store(partition: number, reason: string): void {
    const {
      database: { pool },
      requireReadModel,
      logger,
    } = this.#options;
    const { signal } = this.#closing;
    const note = async (): Promise<void> => {
      // The log may have moved to another topic. Then only the old topic of this process is short.
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
        // An operator may resume the log before this process reads the progress again.
        this.#stored.set(partition, performance.now());
      })
      .catch((error: unknown) => {
        if (!signal.aborted) logger.error({ partition, err: error }, 'a halt could not be stored');
      })
      .finally(() => this.#noting.delete(noting));
    this.#noting.add(noting);
  }
}
