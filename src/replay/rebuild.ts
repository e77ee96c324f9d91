/** Builds a read model from the log, from offset 0 on, in its own Postgres schema. It can go on later from where it is. */
import { projectRecords } from '../../projections/engine/project-records.ts';
import { Projector } from '../../projections/engine/projector.ts';
import { createReadModel, dropReadModel, openDatabase } from '../../projections/engine/read-model.ts';
import { models } from '../../projections/models.ts';
import type { Database } from '../database/database.ts';
import type { LogReader, LogRecord } from '../log/event-log.ts';

/** How many partitions are projected concurrently: while one waits for Postgres, another is decided. */
const partitionsAtOnce = 2;

export interface RebuildOptions {
  readonly url: string;
  readonly log: LogReader;
  /** The Postgres schema to build in; its contents are dropped first. */
  readonly schema: string;
  /** How many events are projected per batch. The result does not depend on it. */
  readonly batchEvents: number;
  /** `ofEvents` grows when the rebuild goes on to a later end. */
  readonly onProgress: (projectedEvents: number, ofEvents: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Rebuilds the read model to the present end of the log. Resolves to the number of events. Rejects with ProjectionFailed, and with the
 * reason of `signal` when that aborts.
 */
export async function rebuild(options: RebuildOptions): Promise<number> {
  const rebuilding = await Rebuild.begin(options);
  try {
    await rebuilding.bringTo(await endsOf(options.log));
    return rebuilding.events;
  } finally {
    await rebuilding.close();
  }
}

/** A read model that is built in steps. */
export class Rebuild {
  readonly #options: RebuildOptions;
  readonly #database: Database;
  /** The next offset of each partition. */
  readonly #next = new Map<number, bigint>();
  #events = 0;

  private constructor(options: RebuildOptions, database: Database) {
    this.#options = options;
    this.#database = database;
  }

  /** Creates the read model, empty. */
  static async begin(options: RebuildOptions): Promise<Rebuild> {
    const { url, schema, log } = options;
    const database = await openDatabase(models, {
      url, schema, synchronousCommit: false, writersMax: partitionsAtOnce, poolMax: partitionsAtOnce,
    });
    try {
      await dropReadModel(database);
      await createReadModel(models, database, log.partitions);
      return new Rebuild(options, database);
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  /** How many events have been projected. */
  get events(): number {
    return this.#events;
  }

  /** Projects each partition up to this end (exclusive), from where it is. Rejects as `rebuild` does; then it must not be called again. */
  async bringTo(ends: ReadonlyMap<number, bigint>): Promise<void> {
    const { signal, onProgress } = this.#options;
    signal.throwIfAborted();
    const ofEvents = Number([...ends.values()].reduce((sum, end) => sum + end, 0n));
    const failed = new AbortController();
    const onProjected = (projected: number): void => {
      signal.throwIfAborted();
      failed.signal.throwIfAborted();
      this.#events += projected;
      onProgress(this.#events, ofEvents);
    };
    const waiting = [...ends].filter(([partition, end]) => end !== this.#nextOf(partition));
    const work = async (): Promise<void> => {
      // A projector's caches belong to one read model.
      const projector = new Projector(models);
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await this.#project(projector, ...next, onProjected);
    };
    const works = Array.from({ length: partitionsAtOnce }, () => work().catch((error: unknown) => failed.abort(error)));
    await Promise.all(works);
    failed.signal.throwIfAborted();
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  #nextOf(partition: number): bigint {
    return this.#next.get(partition) ?? 0n;
  }

  async #project(projector: Projector, partition: number, end: bigint, onProjected: (events: number) => void): Promise<void> {
    const { log, batchEvents } = this.#options;
    const next = this.#nextOf(partition);
    if (end < next) throw new Error(`partition ${partition} of the read model was at ${next} before, and is at ${end}: Postgres lost commits`);
    const target = { database: this.#database, projector, partition, epoch: 0n };
    for await (const records of inBatches(log.read(partition, next, end), batchEvents)) {
      await projectRecords(target, records, (done) => onProjected(done.length));
    }
    this.#next.set(partition, end);
  }
}

/** Regroups records into batches of this size. */
async function* inBatches(read: AsyncIterable<readonly LogRecord[]>, size: number): AsyncGenerator<readonly LogRecord[]> {
  let batch: LogRecord[] = [];
  for await (const records of read) {
    for (const record of records) {
      batch.push(record);
      if (batch.length < size) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

async function endsOf(log: LogReader): Promise<Map<number, bigint>> {
  const ends = new Map<number, bigint>();
  for (let partition = 0; partition < log.partitions; partition += 1) ends.set(partition, (await log.bounds(partition)).end);
  return ends;
}
