/**
 * The copies of tables that this process holds: made when a table is first asked, brought up to date by each query, and thrown away when room is
 * needed, those of the team with the most bytes first, and of these the one that was not asked for longest.
 */
import { randomUUID } from 'node:crypto';
import { rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { CopyQueries, TableSnapshot, TableState } from '../../../projections/tables/copies.queries.ts';
import { QueryError } from '../language/query-error.ts';
import type { Columnar } from './columnar.ts';
import { TableCopy } from './table-copy.ts';

/** Whose tables are asked. */
export interface Asker {
  readonly teamId: string;
  /** Only tables linked to this app; null: all of the team. */
  readonly appId: string | null;
}

export interface CopiesOptions {
  readonly columnar: Columnar;
  readonly queries: CopyQueries;
  /** Where copies are kept, which is theirs alone. */
  readonly folder: string;
  /** How many bytes all copies may have. */
  readonly bytesMax: number;
  /** How many bytes must stay free on their disk. */
  readonly freeMin: number;
}

/** A table at a version that stays as it is until it is released. */
export interface HeldTable {
  readonly copy: TableCopy;
  readonly version: bigint;
  /** Whether its rows had to be read from Postgres first. */
  readonly isCold: boolean;
  readonly release: () => void;
}

interface Entry {
  readonly copy: TableCopy;
  readonly file: string;
  bytes: number;
  lastUsed: number;
}

const missing = { table_not_found: 'There is no such table.', payment_required: 'The team is suspended.' } as const;

export class Copies {
  readonly #options: CopiesOptions;
  /** The present copies, by table. */
  readonly #present = new Map<string, Entry>();
  /** Those of replaced rows, which are kept while they are held. */
  readonly #former = new Set<Entry>();
  /** Who waits for a table last, by table: one catches up at a time. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #count = 0;

  constructor(options: CopiesOptions) {
    this.#options = options;
  }

  /** How many bytes all copies have. */
  get bytes(): number {
    return [...this.#present.values(), ...this.#former].reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /**
   * Tables as they are now: all writes are there that were acknowledged before. All are of one moment. Rejects with QueryError if one is
   * missing, or too large.
   */
  async take(asker: Asker, tableIds: readonly string[]): Promise<HeldTable[]> {
    // Always in the same order, so that two requests cannot wait for each other.
    return this.#inTurn([...new Set(tableIds)].toSorted(), async () => {
      const held: HeldTable[] = [];
      try {
        await this.#options.queries.inSnapshot(async (snapshot) => {
          for (const tableId of tableIds) held.push(await this.#bringUpToDate(snapshot, asker, tableId));
        });
        return held;
      } catch (error) {
        for (const { release } of held) release();
        throw error;
      }
    });
  }

  /** Forgets all copies. */
  async close(): Promise<void> {
    for (const entry of [...this.#present.values(), ...this.#former]) await this.#drop(entry);
  }

  async #bringUpToDate(snapshot: TableSnapshot, { teamId, appId }: Asker, tableId: string): Promise<HeldTable> {
    const state = await snapshot.state(teamId, tableId, appId);
    if (typeof state === 'string') {
      // To another team, or an app, it is not there; that says nothing of the copy.
      if (state === 'table_not_found' && appId === null && this.#present.get(tableId)?.copy.teamId === teamId) await this.#replace(tableId);
      throw new QueryError(state, missing[state]);
    }
    let entry = this.#present.get(tableId);
    const isCold = entry?.copy.follows(state) !== true;
    if (isCold) {
      await this.#replace(tableId);
      entry = await this.#create(snapshot, teamId, tableId, state);
    }
    const { copy } = entry!;
    const isBehind = copy.version < state.version;
    // Nobody takes its room meanwhile.
    const done = copy.hold(copy.version, 'query');
    try {
      await copy.catchUp(snapshot, state);
      if (isBehind) entry!.bytes = await this.#bytesOf(entry!);
    } catch (error) {
      // What it has is not known. Queries that read it fail.
      this.#present.delete(tableId);
      await this.#drop(entry!);
      throw error;
    }
    entry!.lastUsed = performance.now();
    this.#present.set(tableId, entry!);
    const release = copy.hold(copy.version, 'query');
    done();
    const leave = (): void => {
      release();
      this.#sweep();
    };
    await this.#makeRoom(0, entry!);
    return { copy, version: copy.version, isCold, release: leave };
  }

  /** Takes the present copy out of the way. It stays as long as it is held. */
  async #replace(tableId: string): Promise<void> {
    const entry = this.#present.get(tableId);
    if (entry === undefined) return;
    this.#present.delete(tableId);
    if (entry.copy.isHeld) this.#former.add(entry);
    else await this.#drop(entry);
  }

  async #create(snapshot: TableSnapshot, teamId: string, tableId: string, state: TableState): Promise<Entry> {
    const { columnar, folder, bytesMax, freeMin } = this.#options;
    const extents = await snapshot.extents(tableId, state.generation, -1n, null);
    const bytes = extents.reduce((sum, extent) => sum + extent.bytes, 0);
    // Copies are compressed, so this is more than it will have.
    if (bytes > bytesMax) throw new QueryError('limit_exceeded', `The table has ${bytes} bytes, and queries are for tables of at most ${bytesMax}.`);
    await this.#makeRoom(bytes, null);
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize - bytes < freeMin) throw new QueryError('service_unavailable', 'There is too little room on the disk for a copy of the table.');
    this.#count += 1;
    const catalog = `copy${this.#count}`;
    const file = join(folder, `${randomUUID()}.duckdb`);
    await columnar.run(`ATTACH '${file.replaceAll("'", "''")}' AS ${catalog}`);
    return { copy: new TableCopy({ columnar, teamId, tableId, catalog }, state), file, bytes, lastUsed: performance.now() };
  }

  /** Drops copies until so many bytes more fit. `kept`: one that stays. */
  async #makeRoom(bytes: number, kept: Entry | null): Promise<void> {
    while (this.bytes + bytes > this.#options.bytesMax) {
      // Continuations have to give way. Copies of replaced rows have nothing else.
      const free = [...this.#present.values(), ...this.#former].filter((entry) => entry !== kept && !entry.copy.isRead);
      const bytesOf = (teamId: string): number => free.reduce((sum, entry) => sum + (entry.copy.teamId === teamId ? entry.bytes : 0), 0);
      const [victim] = free.toSorted((a, b) => bytesOf(b.copy.teamId) - bytesOf(a.copy.teamId) || a.lastUsed - b.lastUsed);
      if (victim === undefined) {
        if (bytes === 0) return;
        throw new QueryError('service_unavailable', 'There is no room for a copy of the table now: queries of other tables use all of it.');
      }
      if (!this.#former.delete(victim)) this.#present.delete(victim.copy.tableId);
      await this.#drop(victim);
    }
  }

  /** Drops copies of replaced rows that nobody holds any more. */
  #sweep(): void {
    for (const entry of this.#former) {
      if (entry.copy.isHeld) continue;
      this.#former.delete(entry);
      void this.#drop(entry).catch(() => undefined);
    }
  }

  async #drop({ copy, file }: Entry): Promise<void> {
    copy.isDropped = true;
    await this.#options.columnar.run(`DETACH DATABASE IF EXISTS ${copy.catalog}`).catch(() => undefined);
    for (const path of [file, `${file}.wal`]) await rm(path, { force: true });
  }

  async #bytesOf({ file }: Entry): Promise<number> {
    const sizes = await Promise.all([file, `${file}.wal`].map((path) => stat(path).then(({ size }) => size, () => 0)));
    return sizes.reduce((sum, size) => sum + size, 0);
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
