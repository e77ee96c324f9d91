/**
 * The room that copies have: how many there may be, how many bytes on disk, and how many in memory. When it is needed,
 * copies are dropped: those of the team that has most of it first, and of these the one that was not asked for longest.
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
  /** Where copies are kept, which is theirs alone. */
  readonly folder: string;
  /** How many bytes all copies may have. */
  readonly bytesMax: number;
  /** How many bytes the folder may have, with what running queries spill. */
  readonly diskBytesMax: number;
  /** How many bytes must stay free on their disk. */
  readonly freeMin: number;
}

/** A copy, and what it takes. */
export interface CachedCopy {
  readonly copy: TableCopy;
  /** Null: it is in memory. */
  readonly file: string | null;
  bytes: number;
  lastUsed: number;
  /** Whether its rows are being read from Postgres. */
  isFilled: boolean;
  /**
   * Whether the next query of its table uses it. Otherwise it is kept while it is held: it is filled now, its rows were
   * replaced, or it has some rows only.
   */
  isPresent: boolean;
}

/** Each copy is a database of the engine, with a file that is open. */
const copiesMax = 200;

/** What the engine keeps in memory of all copies, as long as they are there, beside what it counts. */
const keptBytesMax = 128 * 1024 * 1024;

/** Rows of all copies together that are in memory, and not in their files yet. */
const unsavedBytesMax = 64 * 1024 * 1024;

/** How often the disk is looked at while an export is made, in milliseconds. */
const lookEveryMs = 200;

/** How long room is waited for while other copies are being read, in milliseconds. */
const waitMs = 5000;

export class Room {
  readonly #options: RoomOptions;
  readonly #entries = new Set<CachedCopy>();
  /** Bytes that exports write, or may write. */
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

  /** Makes a database for a copy of so many bytes of rows. Rejects with QueryError. */
  async create(copy: TableCopy, bytes: number): Promise<CachedCopy> {
    const { columnar, folder, bytesMax } = this.#options;
    // A copy has about as many: bodies as they are, and compressed cells.
    if (bytes > bytesMax) throw tooLarge(bytes, bytesMax);
    const file = join(folder, `${randomUUID()}.duckdb`);
    return this.#add({ copy, file, bytes, lastUsed: performance.now(), isFilled: true, isPresent: false }, async () => {
      await this.#checkDisk(bytes);
      const { blockBytes, rowGroupRows } = copy.layout;
      // Nothing is recovered after a crash, so commits need no log, and wait for no disk.
      await columnar.run(
        `ATTACH '${file.replaceAll("'", "''")}' AS ${copy.catalog} (RECOVERY_MODE no_wal_writes, BLOCK_SIZE ${blockBytes}, ROW_GROUP_SIZE ${rowGroupRows})`,
      );
    });
  }

  /** Makes a database in memory for a copy of some rows. Rejects with QueryError. */
  async createInMemory(copy: TableCopy): Promise<CachedCopy> {
    return this.#add(
      { copy, file: null, bytes: 0, lastUsed: performance.now(), isFilled: false, isPresent: false },
      async () => {
        await this.#options.columnar.run(`ATTACH ':memory:' AS ${copy.catalog}`);
      },
    );
  }

  /**
   * A copy grows while it is filled, and has at least the bytes that were expected. Rejects with QueryError if there is
   * too little room.
   */
  async noteProgress(entry: CachedCopy): Promise<void> {
    entry.bytes = Math.max(entry.bytes, this.#measure(entry));
    await this.#makeRoom(entry);
    await this.#checkDisk(0);
  }

  /** A copy is filled. Rejects with QueryError if there is too little room. */
  async noteFilled(entry: CachedCopy): Promise<void> {
    await this.#saveSurplus();
    entry.bytes = this.#measure(entry);
    await this.#makeRoom(entry);
  }

  /** Takes account of what was written into a copy beside its rows, or removed from there. */
  noteMore(copy: TableCopy): void {
    const entry = this.#entryOf(copy);
    if (entry !== undefined) entry.bytes = this.#measure(entry);
  }

  /** As `noteMore`, and rejects with QueryError if there is too little room. */
  async noteWritten(copy: TableCopy): Promise<void> {
    const entry = this.#entryOf(copy);
    if (entry === undefined) return;
    entry.bytes = Math.max(entry.bytes, this.#measure(entry));
    await this.#makeRoom(entry);
  }

  /**
   * Takes room for what an export writes of a copy before it is written: so many bytes at most. The result changes that
   * to what it is, and gives all back at 0. Rejects with QueryError if there is none.
   */
  async take(copy: TableCopy, bytes: number): Promise<(bytes: number) => void> {
    const { bytesMax } = this.#options;
    const entry = this.#entryOf(copy);
    const needed = bytes + (entry?.bytes ?? 0);
    if (needed > bytesMax)
      throw new QueryError(
        'limit_exceeded',
        `The export needs ${Math.round(needed)} bytes on the disk with the copy of its table, and there may be ${bytesMax}.`,
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

  /** Does work that writes, and aborts it with QueryError when it comes to more on the disk than there may be. */
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

  /** Drops copies that are not present, and that nobody holds any more. */
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
      // Its room is taken until this succeeds: the next sweep tries again.
    }
  }

  /** From now on it counts, so that two copies do not take the same room. */
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

  /** The bytes that it has on disk, or will have. */
  #measure({ file, copy }: CachedCopy): number {
    // Each query after a write waits for this, and a trip to another thread takes longer.
    return (file === null ? 0 : statSync(file).size) + copy.unsavedBytes;
  }

  async #checkDisk(bytes: number): Promise<void> {
    const { folder, freeMin } = this.#options;
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize - bytes < freeMin)
      throw new QueryError('service_unavailable', 'There is too little room on the disk for the query now.');
  }

  get #keepsMuch(): boolean {
    return this.#entries.values().reduce((sum, { copy }) => sum + copy.keptBytes, 0) > keptBytesMax;
  }

  #entryOf(copy: TableCopy): CachedCopy | undefined {
    return this.#entries.values().find((one) => one.copy === copy);
  }

  /** Rejects with QueryError if the folder has more bytes than it may, or the disk too little room. */
  async #checkFolder(): Promise<void> {
    const { folder, diskBytesMax } = this.#options;
    const names = await readdir(folder);
    // What is gone meanwhile takes no room.
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
        'There is too little room on the disk for the export now: running queries use all of it.',
      );
    }
    await this.#checkDisk(0);
  }

  /** Drops copies until all fit. `kept`: the one that needs the room. Rejects with QueryError. */
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
      // Those that are read now keep what they have.
      if (this.bytes <= bytesMax && this.copies <= copiesMax) break;
      if (kept !== null && kept.bytes > bytesMax) throw tooLarge(kept.bytes, bytesMax);
      const [next] = inOrder;
      if ((next === undefined && this.#exportBytes === 0) || performance.now() > endAt) {
        throw new QueryError(
          'service_unavailable',
          'There is no room for a copy of the table now: queries of other tables use all of it.',
        );
      }
      // Queries on it end soon, and exports break off. What exports write is counted to their copies, or given back.
      if (next !== undefined) next.copy.isWanted = true;
      await sleep(20);
      this.sweep();
    }
    for (const { copy } of this.#entries) copy.isWanted = false;
  }

  /** In the order in which they give way: continuations have to, and copies of replaced rows have nothing else. */
  #inOrder(): CachedCopy[] {
    // What is short: bytes, memory, or else copies, of which some have no bytes.
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
  return new QueryError(
    'limit_exceeded',
    `The table has ${Math.round(bytes)} bytes, and queries are for tables of at most ${bytesMax}.`,
  );
}
