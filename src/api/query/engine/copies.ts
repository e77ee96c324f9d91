/**
 * The copies of tables in this process. A copy is made at the first query of its table, and each query brings it up to
 * date.
 */
import type { CopyQueries } from '../../../../projections/tables/copies.queries.ts';
import type { TableSnapshot } from '../../../../projections/tables/table-snapshot.ts';
import { QueryError } from '../language/query-error.ts';
import type { EngineUse } from '../protocol.ts';
import type { Columnar } from './columnar.ts';
import { FillTurns } from './fill-turns.ts';
import type { CachedCopy, Room } from './room.ts';
import { missingBytes, TableCopy } from './table-copy.ts';

/** The team, and perhaps the app, that queries its tables. */
export interface Asker {
  readonly teamId: string;
  /** Only tables linked to this app; null: all of the team. */
  readonly appId: string | null;
}

interface CopiesOptions {
  readonly columnar: Columnar;
  readonly queries: CopyQueries;
  readonly room: Room;
}

/** A table at a version. The copy keeps the rows of that version until `release` is called. */
export interface HeldTable {
  readonly copy: TableCopy;
  readonly version: bigint;
  /** Whether its rows had to be read from Postgres first. */
  readonly isCold: boolean;
  readonly release: () => void;
}

/**
 * A copy that lacks more bytes than this waits for its turn to read them. At most `fillsAtOnce` copies do so at once.
 */
const quickBytesMax = 4 * 1024 * 1024;
const fillsAtOnce = 2;

const problems = { table_not_found: 'There is no such table.', payment_required: 'The team is suspended.' } as const;

export class Copies {
  readonly #options: CopiesOptions;
  /** The present copies, by table. */
  readonly #present = new Map<string, CachedCopy>();
  /** The last task in the queue of each table: only one task at a time brings a copy up to date. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #fills = new FillTurns(fillsAtOnce);
  #count = 0;

  constructor(options: CopiesOptions) {
    this.#options = options;
  }

  /** The number and size of copies and fills, for metrics. */
  get use(): Omit<EngineUse, 'residentBytes'> {
    const { copies, bytes } = this.#options.room;
    return { copies, bytes, fills: this.#fills.running, fillsWaiting: this.#fills.waiting };
  }

  /**
   * Takes tables at one moment, with all writes that were acknowledged before the call. Rejects with QueryError if a
   * table is missing or too large. If `gone` aborts before reading begins, rejects with its reason; after that the
   * tables are read to the end.
   */
  async take(asker: Asker, tableIds: readonly string[], gone: AbortSignal): Promise<HeldTable[]> {
    // Sort the IDs, so that two requests cannot wait for each other.
    return this.#inTurn([...new Set(tableIds)].toSorted(), async () => {
      gone.throwIfAborted();
      return (
        (await this.#takeNow(asker, tableIds, quickBytesMax)) ??
        this.#fills.run(asker.teamId, gone, async () => {
          return (await this.#takeNow(asker, tableIds, Infinity))!;
        })
      );
    });
  }

  /**
   * Takes some rows of a table at this moment, with the cells of some columns, without a copy of the other rows.
   * Rejects with QueryError.
   */
  async takeRows(
    { teamId, appId }: Asker,
    tableId: string,
    rowIds: readonly string[],
    columnIds: ReadonlySet<string>,
  ): Promise<HeldTable> {
    const { columnar, queries, room } = this.#options;
    return queries.inSnapshot(async (snapshot) => {
      const state = await snapshot.state(teamId, tableId, appId);
      if (typeof state === 'string') throw new QueryError(state, problems[state]);
      const copy = new TableCopy({ columnar, teamId, tableId, catalog: `rows${(this.#count += 1)}` }, state);
      const release = this.#hold(copy, state.version);
      try {
        await room.createInMemory(copy);
        await copy.takeRows(state, snapshot.rowsWith(rowIds, tableId, state), columnIds, () => room.noteWritten(copy));
        await room.noteWritten(copy);
      } catch (error) {
        release();
        throw error;
      }
      return { copy, version: state.version, isCold: false, release };
    });
  }

  /** Rejects with QueryError if the table is gone, or if the team is suspended. */
  async check({ teamId, appId }: Asker, tableId: string): Promise<void> {
    const state = await this.#options.queries.inSnapshot((snapshot) => snapshot.state(teamId, tableId, appId));
    if (typeof state === 'string') throw new QueryError(state, problems[state]);
  }

  /** Drops the copies of deleted tables. */
  async dropDeleted(): Promise<void> {
    this.#options.room.sweep();
    for (const [tableId, { copy }] of this.#present) if (copy.isDropped) this.#present.delete(tableId);
    // If the first copy of a table is made while Postgres answers, the table is not in this list and keeps its copy.
    const asked = [...this.#present.keys()];
    const there = await this.#options.queries.existing(asked);
    for (const tableId of asked) {
      if (!there.has(tableId)) await this.#inTurn([tableId], async () => this.#leave(tableId));
    }
  }

  /** Brings the tables up to date and holds them. Resolves to null if a copy lacks more than `bytesMax` bytes. */
  async #takeNow(asker: Asker, tableIds: readonly string[], bytesMax: number): Promise<HeldTable[] | null> {
    const held: HeldTable[] = [];
    try {
      const isTaken = await this.#options.queries.inSnapshot(async (snapshot) => {
        for (const tableId of tableIds) {
          const table = await this.#bringUpToDate(snapshot, asker, tableId, bytesMax);
          if (table === null) return false;
          held.push(table);
        }
        return true;
      });
      if (isTaken) return held;
    } catch (error) {
      for (const { release } of held) release();
      throw error;
    }
    for (const { release } of held) release();
    return null;
  }

  async #bringUpToDate(
    snapshot: TableSnapshot,
    { teamId, appId }: Asker,
    tableId: string,
    lackingMax: number,
  ): Promise<HeldTable | null> {
    const { columnar, room } = this.#options;
    const state = await snapshot.state(teamId, tableId, appId);
    if (typeof state === 'string') {
      // Only for its team, without an app, does a missing table mean that it was deleted.
      if (state === 'table_not_found' && appId === null && this.#present.get(tableId)?.copy.teamId === teamId)
        this.#leave(tableId);
      throw new QueryError(state, problems[state]);
    }
    const found = this.#present.get(tableId);
    const isCold = found === undefined || found.copy.isDropped || !found.copy.follows(state);
    const copy = isCold
      ? new TableCopy({ columnar, teamId, tableId, catalog: `copy${(this.#count += 1)}` }, state)
      : found.copy;
    // Hold the copy, so that it is not dropped to make room.
    const done = this.#hold(copy, copy.version);
    try {
      const missing = await copy.missing(snapshot, state);
      const bytes = missingBytes(missing);
      if (bytes > lackingMax) return null;
      if (isCold) this.#leave(tableId);
      const entry = isCold ? await room.create(copy, bytes) : found;
      try {
        const isBehind = copy.version < state.version;
        entry.isFilled = isBehind;
        await copy.catchUp(snapshot, state, missing, () => room.noteProgress(entry));
        if (isBehind) await room.noteFilled(entry);
      } catch (error) {
        // Its contents are unknown now, so drop it. Queries that read it fail.
        await room.drop(entry);
        throw error;
      }
      entry.isFilled = false;
      entry.lastUsed = performance.now();
      entry.isPresent = true;
      this.#present.set(tableId, entry);
      return { copy, version: copy.version, isCold, release: this.#hold(copy, copy.version) };
    } finally {
      done();
    }
  }

  /** Stops using the present copy of a table for new queries. It stays while it is held. */
  #leave(tableId: string): void {
    const entry = this.#present.get(tableId);
    if (entry === undefined) return;
    this.#present.delete(tableId);
    entry.isPresent = false;
    this.#options.room.sweep();
  }

  /** Holds a copy at a version until the returned function is called. */
  #hold(copy: TableCopy, version: bigint): () => void {
    const release = copy.hold(version, 'query');
    return () => {
      release();
      this.#options.room.sweep();
    };
  }

  async #inTurn<T>(tableIds: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = tableIds.map(async (tableId) => this.#turns.get(tableId));
    const mine = Promise.allSettled(before).then(work);
    for (const tableId of tableIds) this.#turns.set(tableId, mine);
    try {
      return await mine;
    } finally {
      for (const tableId of tableIds) if (this.#turns.get(tableId) === mine) this.#turns.delete(tableId);
    }
  }
}
