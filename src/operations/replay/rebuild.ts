/**
 * Builds a read model from the log, in its own Postgres schema. It projects all partitions at once and commits each
 * batch with its progress, so an interrupted rebuild can be resumed.
 */
import { removeGarbage } from '../../log/garbage.ts';
import { readProgress, type Progress } from '../../log/progress/progress.store.ts';
import { isConflict, type ProjectionListener } from '../../log/project-records.ts';
import { ProgressMoved, Projector } from '../../log/projector.ts';
import { createReadModel, dropReadModel } from '../../log/read-model.ts';
import { models, readTablesSql } from '../../../projections/models.ts';
import { Database } from '../../storage/database/database.ts';
import { asLongWork } from '../../storage/database/long-work.ts';
import type { LogReader } from '../../log/event-log.ts';
import { proveIdentity, WrongLog } from '../../log/identity.ts';
import { allPartitions } from '../../log/partition.ts';
import { pause } from '../../storage/pause.ts';
import { rebuildPartition, type RebuildPlace } from './partition-rebuild.ts';

/** How many connections the partitions share. While one partition waits for Postgres, another is decided. */
const connectionsMax = 4;

/** `approachEnd` stops when at most this many events are left to project. */
export const leftMax = 500;

/** How often `approachEnd` tries while the log keeps growing. */
const approachesMax = 20;

/**
 * Pauses after a step of garbage collection that found something, and after one that found nothing, in milliseconds.
 */
const garbagePauses = { found: 50, none: 1000 };

export interface RebuildOptions {
  readonly url: string;
  readonly log: LogReader;
  /** The Postgres schema to build in. */
  readonly schema: string;
  /**
   * Whether to resume an interrupted rebuild in the schema, if it belongs to this log. Otherwise the schema is dropped
   * first.
   */
  readonly goesOn?: boolean;
  /** How many events are projected per batch. The result does not depend on it. */
  readonly batchEvents: number;
  /** Receives reports for operators, if there is one. */
  readonly listener?: ProjectionListener;
  /** `ofEvents` grows when the rebuild continues to a later end of the log. */
  readonly onProgress: (projectedEvents: number, ofEvents: number) => void;
  readonly signal: AbortSignal;
}

/** A read model that is built in steps. */
export class Rebuild {
  readonly #options: RebuildOptions;
  readonly #database: Database;
  /** How far each partition is projected. */
  readonly #places = new Map<number, RebuildPlace>();
  readonly #epochs: readonly bigint[];
  readonly #projector = new Projector(models);

  private constructor(options: RebuildOptions, database: Database, progress: readonly Progress[]) {
    this.#options = options;
    this.#database = database;
    for (const [partition, { next, time }] of progress.entries()) this.#places.set(partition, { next, time });
    this.#epochs = progress.map(({ epoch }) => epoch);
  }

  /** Creates an empty read model, or opens the one to resume. */
  static async begin(options: RebuildOptions): Promise<Rebuild> {
    const { log, goesOn = false } = options;
    return Rebuild.#open(options, async (database) => {
      if (!goesOn || !(await isOfLog(database, log))) await dropReadModel(database);
      await createReadModel(readTablesSql, database, log.partitions);
    });
  }

  /** Opens the read model in the schema to continue it. Rejects with WrongLog if it was built from another log. */
  static async resume(options: RebuildOptions): Promise<Rebuild> {
    return Rebuild.#open(options, (database) => proveLog(database, options.log));
  }

  static async #open(options: RebuildOptions, prepare: (database: Database) => Promise<void>): Promise<Rebuild> {
    const { url, schema } = options;
    const database = await Database.open({
      url,
      schema,
      synchronousCommit: false,
      writersMax: connectionsMax,
      poolMax: connectionsMax,
    });
    try {
      await prepare(database);
      return new Rebuild(options, database, await readProgress(database.pool));
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  /** How many events have been projected, including earlier runs. */
  get events(): number {
    return Number([...this.#places.values()].reduce((sum, { next }) => sum + next, 0n));
  }

  /**
   * Projects each partition from its progress up to this end (exclusive). Rejects with ProjectionFailed, with
   * ProgressMoved if another process projects too, and with the reason of `signal` when it aborts. After a rejection it
   * must not be called again.
   * @param collectsGarbage whether to remove garbage meanwhile, so that rows overwritten long ago take no space
   */
  async bringTo(ends: ReadonlyMap<number, bigint>, collectsGarbage = false): Promise<void> {
    const { signal, onProgress } = this.#options;
    signal.throwIfAborted();
    const ofEvents = Number([...ends.values()].reduce((sum, end) => sum + end, 0n));
    const failed = new AbortController();
    const done = new AbortController();
    const onProjected = (): void => {
      signal.throwIfAborted();
      failed.signal.throwIfAborted();
      onProgress(this.events, ofEvents);
    };
    const orFail = (work: Promise<void>): Promise<void> => work.catch((error: unknown) => failed.abort(error));
    const collecting = collectsGarbage
      ? orFail(this.#collectGarbage(AbortSignal.any([done.signal, failed.signal])))
      : undefined;
    await Promise.all([...ends].map(([partition, end]) => orFail(this.#project(partition, end, onProjected))));
    done.abort();
    await collecting;
    failed.signal.throwIfAborted();
  }

  /**
   * Projects up to the end of a log that may keep growing, until at most `leftMax` events are left or after
   * `approachesMax` attempts.
   */
  async approachEnd(): Promise<void> {
    for (let approach = 0; approach < approachesMax; approach += 1) {
      const ends = await endsOfLog(this.#options.log);
      const left = Number([...ends.values()].reduce((sum, end) => sum + end, 0n)) - this.events;
      await this.bringTo(ends);
      if (left <= leftMax) return;
    }
  }

  /** Removes all garbage. Nothing may be projected meanwhile. Rejects with the reason of the signal when it aborts. */
  async removeGarbage(): Promise<void> {
    while (await asLongWork(() => removeGarbage(models, this.#database))) this.#options.signal.throwIfAborted();
  }

  /**
   * The offset to bring a partition to, so that it has everything that another read model has at `next`, as far as a
   * log that ends at `end` has it. If this one is further already, its own offset.
   */
  endWithin(partition: number, next: bigint, end: bigint): bigint {
    const wanted = next < end ? next : end;
    const { next: present } = this.#placeOf(partition);
    return present > wanted ? present : wanted;
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  #placeOf(partition: number): RebuildPlace {
    return this.#places.get(partition) ?? { next: 0n, time: 0 };
  }

  async #project(partition: number, end: bigint, onProjected: () => void): Promise<void> {
    const { log, batchEvents, listener } = this.#options;
    const { next: before } = this.#placeOf(partition);
    if (end < before)
      throw new Error(
        `partition ${partition} of the read model was at ${before} before, and is at ${end}: Postgres lost commits`,
      );
    const target = {
      database: this.#database,
      projector: this.#projector,
      partition,
      epoch: this.#epochs[partition]!,
      log,
      batchEvents,
      ...(listener && { listener }),
      onProjected: (place: RebuildPlace) => {
        this.#places.set(partition, place);
        onProjected();
      },
    };
    while (this.#placeOf(partition).next < end) {
      try {
        await rebuildPartition(target, this.#placeOf(partition), end);
      } catch (error) {
        // Either garbage collection conflicted, or Postgres stored a batch whose late answer this process no longer
        // waited for.
        if (!isConflict(error) && !(error instanceof ProgressMoved && (await this.#hasMoved(partition)))) throw error;
      }
    }
  }

  /**
   * Reads the progress of a partition from Postgres. If it is ahead and has our epoch, takes it over and resolves to
   * true.
   */
  async #hasMoved(partition: number): Promise<boolean> {
    const { next, time, epoch } = (await readProgress(this.#database.pool))[partition]!;
    if (epoch !== this.#epochs[partition] || next <= this.#placeOf(partition).next) return false;
    this.#places.set(partition, { next, time });
    return true;
  }

  async #collectGarbage(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let found = true;
      try {
        found = await asLongWork(() => removeGarbage(models, this.#database, 0, true));
      } catch (error) {
        if (!isConflict(error)) throw error;
      }
      await pause(found ? garbagePauses.found : garbagePauses.none, signal);
    }
  }
}

/** Whether the read model exists and was built from this log. */
async function isOfLog(database: Database, log: LogReader): Promise<boolean> {
  const { rowCount } = await database.pool.query('select from pg_namespace where nspname = $1', [database.schema]);
  if (rowCount === 0) return false;
  try {
    await proveLog(database, log);
  } catch (error) {
    if (error instanceof WrongLog) return false;
    throw error;
  }
  return true;
}

/** Rejects with WrongLog if the read model was built from another log. */
async function proveLog(database: Database, log: LogReader): Promise<void> {
  for (const [partition, remembered] of (await readProgress(database.pool)).entries())
    await proveIdentity(log, partition, remembered);
}

/** The present end of each partition of the log. */
export async function endsOfLog(log: LogReader): Promise<Map<number, bigint>> {
  const bounds = await Promise.all(allPartitions(log.partitions).map((partition) => log.bounds(partition)));
  return new Map(bounds.map(({ end }, partition) => [partition, end]));
}
