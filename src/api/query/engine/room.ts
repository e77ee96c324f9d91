/**
 * Limits the copies: their number, their bytes on disk, and their bytes in memory. To make room, it drops copies of the
 * team that uses most of the scarce resource first, and of these the least recently used one.
 */
import { randomUUID } from 'node:crypto';
import { statSync } from 'node:fs';
import { readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { QueryError } from '../language/query-error.ts';
import type { Columnar } from './columnar.ts';
import type { TableCopy } from './table-copy.ts';

interface RoomOptions {
  readonly columnar: Columnar;
  /** The folder of the copies, which contains nothing else. */
  readonly folder: string;
  /** Limit of the bytes of all copies. */
  readonly bytesMax: number;
  /** Limit of the bytes of the folder, including data that running queries spill. */
  readonly diskBytesMax: number;
  /** How many bytes must stay free on the disk. */
  readonly freeMin: number;
}

/** A copy and the space that it takes. */
export interface CachedCopy {
  readonly copy: TableCopy;
  /** The file of the copy; null: the copy is in memory. */
  readonly file: string | null;
  bytes: number;
  lastUsed: number;
  /** Whether its rows are being read from Postgres. */
  isFilled: boolean;
  /**
   * Whether the next query of its table uses the copy. If false, the copy only stays while it is held: it is being
   * filled, its rows were replaced, or it has only some rows.
   */
  isPresent: boolean;
}

/** Limit of copies. Each is a database of the engine with an open file. */
const copiesMax = 200;

/** Limit of the memory that the engine keeps for all copies as long as they exist, and does not count itself. */
const keptBytesMax = 128 * 1024 * 1024;

/** Limit of the bytes of all copies that are in memory and not in files yet. */
const unsavedBytesMax = 64 * 1024 * 1024;

/** Interval between checks of the disk while an export is written, in milliseconds. */
const lookEveryMs = 200;

/** How long to wait for space while other copies are being read, in milliseconds. */
const waitMs = 5000;

export class Room {
  readonly #options: RoomOptions;
  readonly #entries = new Set<CachedCopy>();
  /** Bytes that exports have reserved. */
  #exportBytes = 0;

  constructor(options: RoomOptions) {
    this.#options = options;
  }

  get copies(): number {
    return this.#entries.size;
  }

  get bytes(): number {
    return this.#entries.values().reduce((sum, { bytes }) => sum + bytes, this.#exportBytes);
  }

  /**
   * Creates a database for a copy with `bytes` of rows, and makes room for it. Rejects with QueryError if there is
   * none.
   */
  async create(copy: TableCopy, bytes: number): Promise<CachedCopy> {
    const { columnar, folder, bytesMax } = this.#options;
    // A copy has about as many bytes as its rows: uncompressed bodies, and compressed cells.
    if (bytes > bytesMax) throw tooLarge(bytes, bytesMax);
    const file = join(folder, `${randomUUID()}.duckdb`);
    return this.#add({ copy, file, bytes, lastUsed: performance.now(), isFilled: true, isPresent: false }, async () => {
      await this.#checkDisk(bytes);
      const { blockBytes, rowGroupRows } = copy.layout;
      // Nothing is recovered after a crash, so commits need no log and do not wait for the disk.
      await columnar.run(
        `ATTACH '${file.replaceAll("'", "''")}' AS ${copy.catalog} (RECOVERY_MODE no_wal_writes, BLOCK_SIZE ${blockBytes}, ROW_GROUP_SIZE ${rowGroupRows})`,
      );
    });
  }

  /** Creates a database in memory for a copy of some rows. Rejects with QueryError if there is no room. */
  async createInMemory(copy: TableCopy): Promise<CachedCopy> {
    return this.#add(
      { copy, file: null, bytes: 0, lastUsed: performance.now(), isFilled: false, isPresent: false },
      async () => {
        await this.#options.columnar.run(`ATTACH ':memory:' AS ${copy.catalog}`);
      },
    );
  }

  /**
   * Updates the size of a copy that is being filled, which counts with at least its expected bytes. Rejects with
   * QueryError if there is too little room.
   */
  async noteProgress(entry: CachedCopy): Promise<void> {
    entry.bytes = Math.max(entry.bytes, this.#measure(entry));
    await this.#makeRoom(entry);
    await this.#checkDisk(0);
  }

  /** Updates the size of a copy after a fill. Rejects with QueryError if there is too little room. */
  async noteFilled(entry: CachedCopy): Promise<void> {
    await this.#saveSurplus();
    entry.bytes = this.#measure(entry);
    await this.#makeRoom(entry);
  }

  /** Updates the size of a copy after other data was written beside its rows, or removed. */
  noteMore(copy: TableCopy): void {
    const entry = this.#entryOf(copy);
    if (entry !== undefined) entry.bytes = this.#measure(entry);
  }

  /** Updates the size of a copy after a write, and makes room. Rejects with QueryError if there is too little. */
  async noteWritten(copy: TableCopy): Promise<void> {
    const entry = this.#entryOf(copy);
    if (entry === undefined) return;
    entry.bytes = Math.max(entry.bytes, this.#measure(entry));
    await this.#makeRoom(entry);
  }

  /**
   * Reserves space for an export of a copy before it writes up to `bytes`. Resolves to a function that changes the
   * reservation to the actual bytes; 0 releases it. Rejects with QueryError if there is no room.
   */
  async take(copy: TableCopy, bytes: number): Promise<(bytes: number) => void> {
    const { bytesMax } = this.#options;
    const entry = this.#entryOf(copy);
    const needed = bytes + (entry?.bytes ?? 0);
    if (needed > bytesMax)
      throw new QueryError(
        'limit_exceeded',
        `The export and the copy of its table need ${Math.round(needed)} bytes on the disk. The limit is ${bytesMax}.`,
      );
    let taken = 0;
    const change = (to: number): void => {
      this.#exportBytes += to - taken;
      taken = to;
    };
    change(bytes);
    try {
      await this.#makeRoom(entry ?? null);
      await this.#checkDisk(bytes);
    } catch (error) {
      change(0);
      throw error;
    }
    return change;
  }

  /**
   * Runs work that writes. Aborts it with QueryError when the folder exceeds its limit, or when the disk has too little
   * space.
   */
  async watched<T>(gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const full = new AbortController();
    let isLooking = false;
    const look = async (): Promise<void> => {
      if (isLooking) return;
      isLooking = true;
      await this.#checkFolder().catch((error: unknown) => full.abort(error));
      isLooking = false;
    };
    const timer = setInterval(() => void look(), lookEveryMs);
    try {
      return await work(AbortSignal.any([gone, full.signal]));
    } finally {
      clearInterval(timer);
    }
  }

  /** Drops copies that no query will use and that nobody holds. */
  sweep(): void {
    for (const entry of this.#entries) if (!entry.isPresent && !entry.copy.isHeld) void this.drop(entry);
  }

  async drop(entry: CachedCopy): Promise<void> {
    const { copy, file } = entry;
    copy.isDropped = true;
    entry.isPresent = false;
    try {
      await this.#options.columnar.run(`DETACH DATABASE IF EXISTS ${copy.catalog}`);
      if (file !== null) await rm(file, { force: true });
      this.#entries.delete(entry);
    } catch {
      // The copy still counts. The next sweep tries again.
    }
  }

  /**
   * Adds an entry, makes room for it and attaches it. It counts from the beginning, so that two copies do not take the
   * same space.
   */
  async #add(entry: CachedCopy, attach: () => Promise<void>): Promise<CachedCopy> {
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

  /** The bytes of a copy on disk, including bytes that are still to be saved. */
  #measure({ file, copy }: CachedCopy): number {
    // Synchronous: each query after a write waits for this, and a trip to another thread takes longer.
    return (file === null ? 0 : statSync(file).size) + copy.unsavedBytes;
  }

  async #checkDisk(bytes: number): Promise<void> {
    const { folder, freeMin } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize - bytes < freeMin)
      throw new QueryError(
        'service_unavailable',
        'There is too little space on the disk for the query now. Try again later.',
      );
  }

  get #keepsMuch(): boolean {
    return this.#entries.values().reduce((sum, { copy }) => sum + copy.keptBytes, 0) > keptBytesMax;
  }

  #entryOf(copy: TableCopy): CachedCopy | undefined {
    return this.#entries.values().find((one) => one.copy === copy);
  }

  /** Rejects with QueryError if the folder exceeds its limit, or if the disk has too little space. */
  async #checkFolder(): Promise<void> {
    const { folder, diskBytesMax } = this.#options;
    const names = await readdir(folder);
    // A file that was removed meanwhile takes no space.
    const sizes = await Promise.all(
      names.map((name) =>
        stat(join(folder, name)).then(
          ({ size }) => size,
          () => 0,
        ),
      ),
    );
    if (sizes.reduce((sum, size) => sum + size, 0) > diskBytesMax) {
      throw new QueryError(
        'service_unavailable',
        'There is too little space on the disk for the export now: running queries use all of it. Try again later.',
      );
    }
    await this.#checkDisk(0);
  }

  /**
   * Drops copies until all limits are met. `kept` is the one that needs the room. Rejects with QueryError if that takes
   * too long.
   */
  async #makeRoom(kept: CachedCopy | null): Promise<void> {
    const { bytesMax } = this.#options;
    const endAt = performance.now() + waitMs;
    while (this.bytes > bytesMax || this.copies > copiesMax || this.#keepsMuch) {
      const inOrder = this.#inOrder().filter((entry) => entry !== kept && !entry.isFilled);
      const victim = inOrder.find(({ copy }) => !copy.isRead && !copy.isDropped);
      if (victim !== undefined) {
        await this.drop(victim);
        continue;
      }
      // Copies that are being read keep their memory.
      if (this.bytes <= bytesMax && this.copies <= copiesMax) break;
      if (kept !== null && kept.bytes > bytesMax) throw tooLarge(kept.bytes, bytesMax);
      const [next] = inOrder;
      if ((next === undefined && this.#exportBytes === 0) || performance.now() > endAt) {
        throw new QueryError(
          'service_unavailable',
          'There is no space for a copy of the table now: queries of other tables use all of it. Try again later.',
        );
      }
      // Queries on that copy end soon, and exports of it stop. Space that exports reserved is counted with their copies
      // or released.
      if (next !== undefined) next.copy.isWanted = true;
      await sleep(20);
      this.sweep();
    }
    for (const { copy } of this.#entries) copy.isWanted = false;
  }

  /** The copies in the order in which to drop them. A copy that only continuations hold is dropped like the others. */
  #inOrder(): CachedCopy[] {
    // The scarce resource: bytes on disk, memory or, if neither is short, the number of copies.
    const measure =
      this.bytes > this.#options.bytesMax
        ? ({ bytes }: CachedCopy) => bytes
        : this.#keepsMuch
          ? ({ copy }: CachedCopy) => copy.keptBytes
          : () => 1;
    const taken = new Map<string, number>();
    for (const entry of this.#entries)
      taken.set(entry.copy.teamId, (taken.get(entry.copy.teamId) ?? 0) + measure(entry));
    return [...this.#entries].toSorted(
      (a, b) => taken.get(b.copy.teamId)! - taken.get(a.copy.teamId)! || a.lastUsed - b.lastUsed,
    );
  }

  /** If copies have too many unsaved bytes in memory, saves those that have most until they are below the limit. */
  async #saveSurplus(): Promise<void> {
    for (;;) {
      const entries = [...this.#entries].filter(({ file, copy }) => file !== null && !copy.isDropped);
      if (entries.reduce((sum, { copy }) => sum + copy.unsavedBytes, 0) <= unsavedBytesMax) return;
      const { copy } = entries.reduce((a, b) => (b.copy.unsavedBytes > a.copy.unsavedBytes ? b : a));
      // Hold the copy, so that it is not dropped meanwhile.
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
  return new QueryError(
    'limit_exceeded',
    `The table has ${Math.round(bytes)} bytes, but queries support tables of at most ${bytesMax} bytes.`,
  );
}
