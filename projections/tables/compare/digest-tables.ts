/** Digests the contents of tables: their extents, and the rows that readers can reach, as presented. */
import { createHash, type Hash } from 'node:crypto';
import type { DigestCache, KeptDigest } from '../../../src/log/compare/digest-cache.ts';
import type { DigestedUnits } from '../../../src/log/compare/digested-units.ts';
import { logTimes } from '../../../src/log/compare/section.ts';
import type { Snapshot } from '../../../src/log/compare/snapshot.ts';
import { rememberedAnswers } from '../ended-generations.ts';
import { generationLife } from '../tables.garbage.ts';
import { extentLabels, selectExtentsOf, type DigestedExtent } from './extents.ts';
import { readWindows, RowPresenter, type WindowRows, type Window } from './stored-rows.ts';
import { bytesPerWindow, countAtOnce, rowBytesOf, rowsPerWindow } from './windows.ts';

/** How many extents are listed at once, and how many extents or rows have digests in memory at once. */
const extentsAtOnce = 500;
const rowsKeptAtOnce = 10 * rowsPerWindow;

/** How many generations were replaced so recently that readers or repeated answers can still reach a part of them. */
const generationsSince = (life: number): string => `(select count(*) from generations ended
  where ended.table_id = tables.id and ended.ended_at >= last.time - ${life})`;

export const digestedTables: DigestedUnits = {
  what: 'tables',
  owner: 'table_id',
  // Every change of a table raises its version. Time ends its replaced generations, the oldest first.
  query: `select tables.id as unit, teams.partition,
      concat_ws(' ', tables.version, ${generationsSince(generationLife)},
      ${generationsSince(rememberedAnswers)}) as fingerprint
    from tables left join teams on teams.id = tables.team_id left join ${logTimes} on last.partition = teams.partition
    where not tables.deleted`,
  digest: (snapshot, tableIds, cache, onRowsRead) => new TableDigests(snapshot, cache, onRowsRead).run(tableIds),
};

/**
 * An extent whose rows are being digested. Without a hash, its rows are already digested, or readers cannot reach them.
 */
interface PendingExtent {
  readonly extent: DigestedExtent;
  readonly rows: Hash | null;
}

interface PendingWindow {
  readonly of: PendingExtent;
  readonly window: Window;
}

class TableDigests {
  readonly #snapshot: Snapshot;
  readonly #cache: DigestCache | null;
  readonly #onRowsRead: (rows: number) => void;
  readonly #presenter: RowPresenter;
  readonly #tables = new Map<string, Hash>();
  /** In order. */
  #pending: PendingExtent[] = [];
  #windows: PendingWindow[] = [];
  /** The windows that Postgres reads while earlier rows are hashed. */
  #reading: { readonly windows: readonly PendingWindow[]; readonly stored: Promise<WindowRows[]> } | null = null;
  #rowsPending = 0;
  #bytesPending = 0;
  #rowsUnkept = 0;
  #hasRead = false;

  constructor(snapshot: Snapshot, cache: DigestCache | null, onRowsRead: (rows: number) => void) {
    this.#snapshot = snapshot;
    this.#cache = cache;
    this.#onRowsRead = onRowsRead;
    this.#presenter = new RowPresenter(snapshot);
  }

  async run(tableIds: readonly string[]): Promise<ReadonlyMap<string, string> | null> {
    const extents = this.#snapshot.stream<DigestedExtent>(selectExtentsOf('$1::uuid[]'), extentsAtOnce, [tableIds]);
    for await (const extent of extents) {
      await this.#add(extent);
      // Stops only once a result was read and stored. Otherwise the next snapshot would make no progress.
      if (this.#cache !== null && this.#hasRead && this.#pending.length === 0 && this.#snapshot.isOld) return null;
    }
    await this.#finish();
    return new Map([...this.#tables].map(([id, hash]) => [id, hash.digest('hex')]));
  }

  async #add(extent: DigestedExtent): Promise<void> {
    const isRead = extent.isShown && extent.digest === null;
    const pending = { extent, rows: isRead ? createHash('sha256') : null };
    this.#pending.push(pending);
    if (isRead) await this.#addWindows(pending);
    if (this.#pending.length >= extentsAtOnce || this.#rowsUnkept >= rowsKeptAtOnce) await this.#finish();
    else if (this.#rowsPending >= rowsPerWindow || this.#bytesPending >= bytesPerWindow) await this.#readWindows();
  }

  async #addWindows(of: PendingExtent): Promise<void> {
    const { extent } = of;
    const rowBytes = rowBytesOf(extent);
    const countMax = countAtOnce(rowBytes);
    for (let start = 0; start < extent.rows; start += countMax) {
      const count = Math.min(countMax, extent.rows - start);
      if (this.#rowsPending + count > rowsPerWindow || this.#bytesPending + count * rowBytes > bytesPerWindow)
        await this.#readWindows();
      this.#windows.push({ of, window: { extent, start, count } });
      this.#rowsPending += count;
      this.#rowsUnkept += count;
      this.#bytesPending += count * rowBytes;
    }
  }

  /** Begins to read the pending windows, and hashes the windows of the previous call. */
  async #readWindows(): Promise<void> {
    const windows = this.#windows;
    this.#windows = [];
    this.#rowsPending = 0;
    this.#bytesPending = 0;
    const before = this.#reading;
    const storedBefore = await before?.stored;
    this.#reading =
      windows.length === 0
        ? null
        : {
            windows,
            stored: readWindows(
              this.#snapshot,
              windows.map(({ window }) => window),
            ),
          };
    // The next call awaits this promise, unless something fails first.
    this.#reading?.stored.catch(() => undefined);
    if (before === null) return;
    for (const [at, { of, window }] of before.windows.entries()) {
      await this.#hashRows(of.rows!, window, storedBefore![at]!);
    }
    this.#hasRead = true;
    this.#onRowsRead(before.windows.reduce((sum, { window }) => sum + window.count, 0));
  }

  async #hashRows(hash: Hash, window: Window, stored: WindowRows): Promise<void> {
    const rows = await this.#presenter.present(window, stored);
    if (rows === null) {
      hash.update(JSON.stringify([window.start, 'unreadable', stored.bodies]));
      return;
    }
    // No body has a line feed, so the rows of a window are hashed as one text. Hashing each row takes several times as
    // long.
    let text = '';
    for (const [index, { version, body }] of rows) text += `${index} ${version} ${body ?? ''}\n`;
    hash.update(text);
  }

  /** Adds all pending extents to the digests of their tables. */
  async #finish(): Promise<void> {
    await this.#readWindows();
    if (this.#reading !== null) await this.#readWindows();
    const made: KeptDigest[] = [];
    for (const { extent, rows } of this.#pending) {
      const digest = rows?.digest('hex') ?? null;
      if (digest !== null)
        made.push({
          unit: extent.tableId,
          part: `${extent.version} ${extent.ordinal}`,
          fingerprint: extent.fingerprint,
          digest,
        });
      const hash = this.#tables.get(extent.tableId) ?? createHash('sha256');
      this.#tables.set(extent.tableId, hash);
      const state = [...extentLabels.keys, ...extentLabels.columns!].map((column) => String(extent[column]));
      hash.update(JSON.stringify(state)).update(extent.isShown ? (digest ?? extent.digest!) : '');
    }
    this.#pending = [];
    this.#rowsUnkept = 0;
    await this.#cache?.keep(made);
  }
}
