/**
 * The copies of tables that this process holds: made when a table is first asked, brought up to date by each query, and thrown away when room is
 * needed, those of the team that has most of it first, and of these the one that was not asked for longest.
 */
import { randomUUID } from 'node:crypto';
import { rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CopyQueries, TableSnapshot } from '../../../projections/tables/copies.queries.ts';
import { QueryError } from '../language/query-error.ts';
import type { EngineUse } from '../protocol.ts';
import type { Columnar } from './columnar.ts';
import { FillTurns } from './fill-turns.ts';
import { bytesOf, TableCopy } from './table-copy.ts';

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
  /** Null: it is in memory. */
  readonly file: string | null;
  bytes: number;
  lastUsed: number;
  /** Whether its rows are being read from Postgres. */
  isFilled: boolean;
}

/** Each copy is a database of the engine, with a file that is open. */
const copiesMax = 200;

/** Rows of all copies together that are in memory, and not in their files yet. */
const unsavedBytesMax = 64 * 1024 * 1024;

/** How long room is waited for while other copies are being read, in milliseconds. */
const roomWaitMs = 5000;

/** A copy that lacks more bytes than this waits for its turn to read them; so many read at once. */
const quickBytesMax = 4 * 1024 * 1024;
const fillsAtOnce = 2;

const problems = { table_not_found: 'There is no such table.', payment_required: 'The team is suspended.' } as const;

export class Copies {
  readonly #options: CopiesOptions;
  /** The present copies, by table. */
  readonly #present = new Map<string, Entry>();
  /** Those that are filled now, those of replaced rows, and those of a few rows: they are kept while they are held. */
  readonly #others = new Set<Entry>();
  /** Who waits for a table last, by table: one catches up at a time. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #fills = new FillTurns(fillsAtOnce);
  #count = 0;
  #fileBytes = 0;

  constructor(options: CopiesOptions) {
    this.#options = options;
  }

  /** What the copies come to, for metrics. */
  get use(): Omit<EngineUse, 'residentBytes'> {
    return { copies: this.#all.length, bytes: this.#bytes, fills: this.#fills.running, fillsWaiting: this.#fills.waiting };
  }

  /**
   * Tables as they are now: all writes are there that were acknowledged before. All are of one moment. Rejects with QueryError if one is
   * missing, or too large, and as `gone` says if nobody waits any more before they are read; what is being read then is read to its end.
   */
  async take(asker: Asker, tableIds: readonly string[], gone: AbortSignal): Promise<HeldTable[]> {
    // Always in the same order, so that two requests cannot wait for each other.
    return this.#inTurn([...new Set(tableIds)].toSorted(), async () => {
      gone.throwIfAborted();
      return (await this.#takeNow(asker, tableIds, quickBytesMax)) ?? this.#fills.run(asker.teamId, gone, async () => {
        return (await this.#takeNow(asker, tableIds, Infinity))!;
      });
    });
  }

  /** Some rows of a table, as they are now: without a copy of the others. Rejects with QueryError. */
  async takeRows({ teamId, appId }: Asker, tableId: string, rowIds: readonly string[]): Promise<HeldTable> {
    const { columnar, queries } = this.#options;
    return queries.inSnapshot(async (snapshot) => {
      const state = await snapshot.state(teamId, tableId, appId);
      if (typeof state === 'string') throw new QueryError(state, problems[state]);
      const copy = new TableCopy({ columnar, teamId, tableId, catalog: `rows${(this.#count += 1)}` }, state);
      const release = copy.hold(state.version, 'query');
      const entry: Entry = { copy, file: null, bytes: 0, lastUsed: performance.now(), isFilled: false };
      this.#others.add(entry);
      const leave = (): void => {
        release();
        this.#sweep();
      };
      try {
        await this.#makeRoom(entry);
        await columnar.run(`ATTACH ':memory:' AS ${copy.catalog}`);
        await copy.takeRows(state, snapshot.rowsWith(rowIds, tableId, state));
      } catch (error) {
        leave();
        throw error;
      }
      return { copy, version: state.version, isCold: false, release: leave };
    });
  }

  /** Whether a table may be asked still. Rejects with QueryError. */
  async check({ teamId, appId }: Asker, tableId: string): Promise<void> {
    const state = await this.#options.queries.inSnapshot((snapshot) => snapshot.state(teamId, tableId, appId));
    if (typeof state === 'string') throw new QueryError(state, problems[state]);
  }

  /** Takes account of what was written into a copy beside its rows. */
  async measure(copy: TableCopy): Promise<void> {
    const entry = this.#all.find((entry) => entry.copy === copy);
    if (entry !== undefined) await this.#measure(entry, true);
  }

  /** Takes room for so many bytes of files, until the result is called. Rejects with QueryError if there is none. */
  async takeRoom(bytes: number): Promise<() => void> {
    this.#fileBytes += bytes;
    const release = (): void => {
      this.#fileBytes -= bytes;
    };
    try {
      await this.#makeRoom(null);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  /** Drops the copies of tables that are not there any more. */
  async dropDeleted(): Promise<void> {
    this.#sweep();
    const there = await this.#options.queries.existing([...this.#present.keys()]);
    for (const tableId of this.#present.keys()) {
      if (!there.has(tableId)) await this.#inTurn([tableId], () => this.#replace(tableId));
    }
  }

  /** Forgets all copies. */
  async close(): Promise<void> {
    for (const entry of this.#all) await this.#drop(entry);
  }

  get #all(): Entry[] {
    return [...this.#present.values(), ...this.#others];
  }

  get #bytes(): number {
    return this.#all.reduce((sum, { bytes }) => sum + bytes, this.#fileBytes);
  }

  /** Null if they lack more than so many bytes. */
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

  async #bringUpToDate(snapshot: TableSnapshot, { teamId, appId }: Asker, tableId: string, lackingMax: number): Promise<HeldTable | null> {
    const state = await snapshot.state(teamId, tableId, appId);
    if (typeof state === 'string') {
      // To another team, or an app, it is not there; that says nothing of the copy.
      if (state === 'table_not_found' && appId === null && this.#present.get(tableId)?.copy.teamId === teamId) await this.#replace(tableId);
      throw new QueryError(state, problems[state]);
    }
    const { columnar } = this.#options;
    const found = this.#present.get(tableId);
    const isCold = found?.copy.follows(state) !== true;
    const copy = isCold ? new TableCopy({ columnar, teamId, tableId, catalog: `copy${(this.#count += 1)}` }, state) : found.copy;
    const missing = await copy.missing(snapshot, state);
    const bytes = bytesOf(missing);
    if (bytes > lackingMax) return null;
    // Nobody takes its room meanwhile.
    const done = copy.hold(copy.version, 'query');
    let entry = found;
    try {
      if (isCold) {
        await this.#replace(tableId);
        entry = await this.#create(copy, bytes);
      }
      const isBehind = copy.version < state.version;
      entry!.isFilled = isBehind;
      await copy.catchUp(snapshot, state, missing, async () => {
        await this.#measure(entry!, true);
        await this.#checkDisk(0);
      });
      if (isBehind) {
        await this.#saveSurplus();
        await this.#measure(entry!, false);
      }
    } catch (error) {
      done();
      // What it has is not known. Queries that read it fail.
      if (entry?.copy === copy) {
        this.#forget(entry);
        await this.#drop(entry);
      }
      throw error;
    }
    entry = entry!;
    entry.isFilled = false;
    entry.lastUsed = performance.now();
    this.#others.delete(entry);
    this.#present.set(tableId, entry);
    const release = copy.hold(copy.version, 'query');
    done();
    const leave = (): void => {
      release();
      this.#sweep();
    };
    return { copy, version: copy.version, isCold, release: leave };
  }

  /** Takes the present copy out of the way. It stays as long as it is held. */
  async #replace(tableId: string): Promise<void> {
    const entry = this.#present.get(tableId);
    if (entry === undefined) return;
    this.#present.delete(tableId);
    if (entry.copy.isHeld) this.#others.add(entry);
    else await this.#drop(entry);
  }

  /** The entry of a copy that is to be filled with so many bytes of rows. */
  async #create(copy: TableCopy, bytes: number): Promise<Entry> {
    const { columnar, folder, bytesMax } = this.#options;
    // Copies are compressed: most have less than the rows.
    if (bytes > bytesMax) throw tooLarge(bytes, bytesMax);
    const file = join(folder, `${randomUUID()}.duckdb`);
    const entry: Entry = { copy, file, bytes, lastUsed: performance.now(), isFilled: true };
    // From now on its bytes count, so that two copies do not take the same room.
    this.#others.add(entry);
    try {
      await this.#makeRoom(entry);
      await this.#checkDisk(bytes);
      // Nothing is recovered after a crash, so commits need no log, and wait for no disk.
      await columnar.run(`ATTACH '${file.replaceAll("'", "''")}' AS ${copy.catalog} (RECOVERY_MODE no_wal_writes)`);
    } catch (error) {
      this.#others.delete(entry);
      throw error;
    }
    return entry;
  }

  /** Takes account of what a copy has on disk, or will have. While it is filled, that is at least what was expected. */
  async #measure(entry: Entry, isFilling: boolean): Promise<void> {
    const bytes = (entry.file === null ? 0 : (await stat(entry.file)).size) + entry.copy.unsavedBytes;
    entry.bytes = isFilling ? Math.max(entry.bytes, bytes) : bytes;
    await this.#makeRoom(entry);
  }

  async #checkDisk(bytes: number): Promise<void> {
    const { folder, freeMin } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize - bytes < freeMin) throw new QueryError('service_unavailable', 'There is too little room on the disk for a copy of the table.');
  }

  /** Drops copies until all fit. `kept`: the one that needs the room. Rejects with QueryError. */
  async #makeRoom(kept: Entry | null): Promise<void> {
    const { bytesMax } = this.#options;
    const endAt = performance.now() + roomWaitMs;
    while (this.#bytes > bytesMax || this.#all.length > copiesMax) {
      // Who has most of what is short gives way: bytes, or else copies, of which some have no bytes.
      const isShortOfBytes = this.#bytes > bytesMax;
      const taken = new Map<string, number>();
      for (const { copy: { teamId }, bytes } of this.#all) taken.set(teamId, (taken.get(teamId) ?? 0) + (isShortOfBytes ? bytes : 1));
      // Continuations have to give way. Copies of replaced rows have nothing else.
      const others = this.#all.filter((entry) => entry !== kept && !entry.isFilled);
      const inOrder = others.toSorted((a, b) => taken.get(b.copy.teamId)! - taken.get(a.copy.teamId)! || a.lastUsed - b.lastUsed);
      const victim = inOrder.find(({ copy }) => !copy.isRead && !copy.isDropped);
      if (victim !== undefined) {
        this.#forget(victim);
        await this.#drop(victim);
        continue;
      }
      if (kept !== null && kept.bytes > bytesMax) throw tooLarge(kept.bytes, bytesMax);
      const [next] = inOrder;
      if (next === undefined || performance.now() > endAt) {
        throw new QueryError('service_unavailable', 'There is no room for a copy of the table now: queries of other tables use all of it.');
      }
      // Queries on it end soon, and exports break off.
      next.copy.isWanted = true;
      await sleep(20);
      this.#sweep();
    }
    for (const { copy } of this.#all) copy.isWanted = false;
  }

  /** Drops those of the others that nobody holds any more. */
  #sweep(): void {
    for (const entry of this.#others) {
      if (entry.copy.isHeld) continue;
      this.#others.delete(entry);
      void this.#drop(entry);
    }
  }

  #forget(entry: Entry): void {
    if (!this.#others.delete(entry)) this.#present.delete(entry.copy.tableId);
  }

  async #drop(entry: Entry): Promise<void> {
    const { copy } = entry;
    copy.isDropped = true;
    try {
      await this.#options.columnar.run(`DETACH DATABASE IF EXISTS ${copy.catalog}`);
      if (entry.file !== null) await rm(entry.file, { force: true });
    } catch {
      // Its room is taken until this succeeds: the next sweep tries again.
      this.#others.add(entry);
    }
  }

  /** Writes rows to files that are in memory only, if there are many: of the copies that have most of them. */
  async #saveSurplus(): Promise<void> {
    const unsaved = (): number => this.#all.reduce((sum, { copy }) => sum + copy.unsavedBytes, 0);
    while (unsaved() > unsavedBytesMax) {
      const most = this.#all.reduce((a, b) => (b.copy.unsavedBytes > a.copy.unsavedBytes ? b : a));
      if (!(await most.copy.save())) return;
    }
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

function tooLarge(bytes: number, bytesMax: number): QueryError {
  return new QueryError('limit_exceeded', `The table has ${Math.round(bytes)} bytes, and queries are for tables of at most ${bytesMax}.`);
}

