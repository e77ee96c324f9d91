/**
 * The room that copies have: how many there may be, how many bytes on disk, and how many in memory. When it is needed, copies are dropped: those of the
 * team that has most of it first, and of these the one that was not asked for longest.
 */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueryError } from '../language/query-error.ts';
import type { Columnar } from './columnar.ts';
import type { TableCopy } from './table-copy.ts';

export interface RoomOptions {
  readonly columnar: Columnar;
  /** Where copies are kept, which is theirs alone. */
  readonly folder: string;
  /** How many bytes all copies may have. */
  readonly bytesMax: number;
  /** How many bytes must stay free on their disk. */
  readonly freeMin: number;
}

/** A copy, and what it takes. */
export interface Entry {
  readonly copy: TableCopy;
  /** Null: it is in memory. */
  readonly file: string | null;
  bytes: number;
  lastUsed: number;
  /** Whether its rows are being read from Postgres. */
  isFilled: boolean;
  /** Whether the next query of its table uses it. Otherwise it is kept while it is held: it is filled now, its rows were replaced, or it has some rows only. */
  isPresent: boolean;
}

/** Each copy is a database of the engine, with a file that is open. */
const copiesMax = 200;

/** A thread reads so many rows at a time. With half of the engine's default, two threads share a table of 100,000 rows. */
const rowGroupRows = 61_440;

/** Rows of all copies together that are in memory, and not in their files yet. */
const unsavedBytesMax = 64 * 1024 * 1024;

/** How long room is waited for while other copies are being read, in milliseconds. */
const waitMs = 5000;

export class Room {
  readonly #options: RoomOptions;
  readonly #entries = new Set<Entry>();
  /** Bytes of files that are no copies. */
  #fileBytes = 0;

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  get copies(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#entries.values().reduce((sum, { bytes }) => sum + bytes, this.#fileBytes);
  }

  /** Makes a database for a copy of so many bytes of rows. Rejects with QueryError. */
  async create(copy: TableCopy, bytes: number): Promise<Entry> {
    const { columnar, folder, bytesMax } = this.#options;
    // A copy has about as many: bodies as they are, and compressed cells.
    if (bytes > bytesMax) throw tooLarge(bytes, bytesMax);
    const file = join(folder, `${randomUUID()}.duckdb`);
    return this.#add({ copy, file, bytes, lastUsed: performance.now(), isFilled: true, isPresent: false }, async () => {
      await this.#checkDisk(bytes);
      // Nothing is recovered after a crash, so commits need no log, and wait for no disk.
      await columnar.run(`ATTACH '${file.replaceAll("'", "''")}' AS ${copy.catalog} (RECOVERY_MODE no_wal_writes, ROW_GROUP_SIZE ${rowGroupRows})`);
    });
  }

  /** Makes a database in memory for a copy of some rows. Rejects with QueryError. */
  async createInMemory(copy: TableCopy): Promise<Entry> {
    return this.#add({ copy, file: null, bytes: 0, lastUsed: performance.now(), isFilled: false, isPresent: false }, async () => {
      await this.#options.columnar.run(`ATTACH ':memory:' AS ${copy.catalog}`);
    });
  }

  /** A copy grows while it is filled, and has at least the bytes that were expected. Rejects with QueryError if there is too little room. */
  async noteProgress(entry: Entry): Promise<void> {
    entry.bytes = Math.max(entry.bytes, this.#measure(entry));
    await this.#makeRoom(entry);
    await this.#checkDisk(0);
  }

  /** A copy is filled. Rejects with QueryError if there is too little room. */
  async noteFilled(entry: Entry): Promise<void> {
    await this.#saveSurplus();
    entry.bytes = this.#measure(entry);
    await this.#makeRoom(entry);
  }

  /** Takes account of what was written into a copy beside its rows. Rejects with QueryError if there is too little room. */
  async noteMore(copy: TableCopy): Promise<void> {
    const entry = this.#entries.values().find((one) => one.copy === copy);
    if (entry === undefined) return;
    entry.bytes = Math.max(entry.bytes, this.#measure(entry));
    await this.#makeRoom(entry);
  }

  /** Takes room for so many bytes of files, until the result is called. Rejects with QueryError if there is none. */
  async takeForFile(bytes: number): Promise<() => void> {
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

  /** Drops copies that are not present, and that nobody holds any more. */
  sweep(): void {
    for (const entry of this.#entries) if (!entry.isPresent && !entry.copy.isHeld) void this.drop(entry);
  }

  async drop(entry: Entry): Promise<void> {
    const { copy, file } = entry;
    copy.isDropped = true;
    entry.isPresent = false;
    try {
      await this.#options.columnar.run(`DETACH DATABASE IF EXISTS ${copy.catalog}`);
      if (file !== null) await rm(file, { force: true });
      this.#entries.delete(entry);
    } catch {
      // Its room is taken until this succeeds: the next sweep tries again.
    }
  }

  /** From now on it counts, so that two copies do not take the same room. */
  async #add(entry: Entry, attach: () => Promise<void>): Promise<Entry> {
    this.#entries.add(entry);
    try {
      await this.#makeRoom(entry);
      await attach();
      return entry;
    } catch (error) {
      this.#entries.delete(entry);
      throw error;
    }
  }

  /** The bytes that it has on disk, or will have. */
  #measure({ file, copy }: Entry): number {
    // Each query after a write waits for this, and a trip to another thread takes longer.
    return (file === null ? 0 : statSync(file).size) + copy.unsavedBytes;
  }

  async #checkDisk(bytes: number): Promise<void> {
    const { folder, freeMin } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize - bytes < freeMin) throw new QueryError('service_unavailable', 'There is too little room on the disk for a copy of the table.');
  }

  /** Drops copies until all fit. `kept`: the one that needs the room. Rejects with QueryError. */
  async #makeRoom(kept: Entry | null): Promise<void> {
    const { bytesMax } = this.#options;
    const endAt = performance.now() + waitMs;
    while (this.bytes > bytesMax || this.copies > copiesMax) {
      const inOrder = this.#inOrder().filter((entry) => entry !== kept && !entry.isFilled);
      const victim = inOrder.find(({ copy }) => !copy.isRead && !copy.isDropped);
      if (victim !== undefined) {
        await this.drop(victim);
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
      this.sweep();
    }
    for (const { copy } of this.#entries) copy.isWanted = false;
  }

  /** In the order in which they give way: continuations have to, and copies of replaced rows have nothing else. */
  #inOrder(): Entry[] {
    // What is short: bytes, or else copies, of which some have no bytes.
    const isShortOfBytes = this.bytes > this.#options.bytesMax;
    const taken = new Map<string, number>();
    for (const { copy: { teamId }, bytes } of this.#entries) taken.set(teamId, (taken.get(teamId) ?? 0) + (isShortOfBytes ? bytes : 1));
    return [...this.#entries].toSorted((a, b) => taken.get(b.copy.teamId)! - taken.get(a.copy.teamId)! || a.lastUsed - b.lastUsed);
  }

  /** Writes rows to files that are in memory only, if there are many: of the copies that have most of them. */
  async #saveSurplus(): Promise<void> {
    for (;;) {
      const entries = [...this.#entries].filter(({ file, copy }) => file !== null && !copy.isDropped);
      if (entries.reduce((sum, { copy }) => sum + copy.unsavedBytes, 0) <= unsavedBytesMax) return;
      const { copy } = entries.reduce((a, b) => (b.copy.unsavedBytes > a.copy.unsavedBytes ? b : a));
      // Nobody drops it meanwhile.
      const done = copy.hold(copy.version, 'query');
      try {
        if (!(await copy.save())) return;
      } finally {
        done();
      }
    }
  }
}

function tooLarge(bytes: number, bytesMax: number): QueryError {
  return new QueryError('limit_exceeded', `The table has ${Math.round(bytes)} bytes, and queries are for tables of at most ${bytesMax}.`);
}
