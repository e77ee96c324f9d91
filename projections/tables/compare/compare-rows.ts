/** Compares all extents of two read models, and all rows that readers can reach, in order. */
import { formatRowId } from '../../../src/language/events/row-id.ts';
import { parseRow } from '../../../src/language/values/row-text.ts';
import { compareCells } from '../../../src/log/compare/compare-cells.ts';
import type { Differences } from '../../../src/log/compare/differences.ts';
import { extentLabels, selectExtents, type ComparedExtent } from './extents.ts';
import { queryAfter, type CompareSnapshots, type ComparisonKey } from '../../../src/log/compare/comparison.ts';
import { merge, positionOf } from '../../../src/log/compare/merge.ts';
import type { Snapshot } from '../../../src/log/compare/snapshot.ts';
import {
  areStoredAlike,
  readWindows,
  RowPresenter,
  type VisibleRow,
  type WindowRows,
  type Window,
} from './stored-rows.ts';
import { bytesPerWindow, countAtOnce, rowBytesOf, rowsPerWindow } from './windows.ts';

const extentsAtOnce = 500;

/** How many extents are compared before the first check of the snapshots' age. */
const extentsAtLeast = 20;

/** The same rows on both sides. */
type WindowPair = readonly [expected: Window, found: Window];

/** Compares all extents, and all rows that readers can reach. Counts tables and undeleted rows. */
export const compareRows: CompareSnapshots = async (expected, found, differences, after) => {
  const { rows, next } = await new RowComparison(expected, found, differences).run(after);
  if (next !== null) return { counts: { rows }, next };
  const [tables] = await found.query<{ count: number }>('select count(*)::int4 from tables where not deleted');
  return { counts: { tables: tables!.count, rows }, next };
};

class RowComparison {
  readonly #expected: Snapshot;
  readonly #found: Snapshot;
  readonly #differences: Differences;
  readonly #presenters: readonly [RowPresenter, RowPresenter];
  #pairs: WindowPair[] = [];
  #rows = 0;
  #bytes = 0;
  #live = 0;

  constructor(expected: Snapshot, found: Snapshot, differences: Differences) {
    this.#expected = expected;
    this.#found = found;
    this.#differences = differences;
    this.#presenters = [new RowPresenter(expected), new RowPresenter(found)];
  }

  /** Compares the extents after a position, until a snapshot is old. `rows`: the number of undeleted rows. */
  async run(after: ComparisonKey | null): Promise<{ readonly rows: number; readonly next: ComparisonKey | null }> {
    const { text, values } = queryAfter(selectExtents, extentLabels.keys, after);
    const extents = merge(
      this.#expected.stream<ComparedExtent>(text, extentsAtOnce, values),
      this.#found.stream<ComparedExtent>(text, extentsAtOnce, values),
      extentLabels.keys,
    );
    let compared = 0;
    let next: ComparisonKey | null = null;
    for await (const pair of extents) {
      compareCells(extentLabels, pair, this.#differences);
      const [expected, found] = pair;
      if (expected?.isShown && found) await this.#add(expected, found);
      compared += 1;
      if (compared % extentsAtLeast === 0 && (this.#expected.isOld || this.#found.isOld))
        next = positionOf(pair, extentLabels.keys);
      if (next !== null || this.#differences.full) break;
    }
    await this.#compareWindows();
    return { rows: this.#live, next };
  }

  /** Cuts an extent into windows, and compares the queued windows once there are enough. */
  async #add(expected: ComparedExtent, found: ComparedExtent): Promise<void> {
    const rowBytes = Math.max(rowBytesOf(expected), rowBytesOf(found));
    const countMax = countAtOnce(rowBytes);
    const rows = Math.max(expected.rows, found.rows);
    for (let start = 0; start < rows; start += countMax) {
      const windowOf = (extent: ComparedExtent): Window => ({
        extent,
        start,
        count: Math.max(0, Math.min(countMax, extent.rows - start)),
      });
      const pair = [windowOf(expected), windowOf(found)] as const;
      const count = Math.max(pair[0].count, pair[1].count);
      if (this.#rows + count > rowsPerWindow || this.#bytes + count * rowBytes > bytesPerWindow)
        await this.#compareWindows();
      this.#pairs.push(pair);
      this.#rows += count;
      this.#bytes += count * rowBytes;
      if (this.#differences.full) return;
    }
  }

  async #compareWindows(): Promise<void> {
    const pairs = this.#pairs;
    this.#pairs = [];
    this.#rows = 0;
    this.#bytes = 0;
    if (pairs.length === 0) return;
    const [expected, found] = await Promise.all([
      readWindows(
        this.#expected,
        pairs.map(([window]) => window),
      ),
      readWindows(
        this.#found,
        pairs.map(([, window]) => window),
      ),
    ]);
    for (const [at, pair] of pairs.entries()) {
      this.#live += found[at]!.live;
      if (!areStoredAlike(expected[at]!, found[at]!)) await this.#compareRows(pair, expected[at]!, found[at]!);
    }
  }

  /** Compares row by row, as the rows are presented. */
  async #compareRows(
    [expectedWindow, foundWindow]: WindowPair,
    expected: WindowRows,
    found: WindowRows,
  ): Promise<void> {
    const [expectedRows, foundRows] = await Promise.all([
      this.#presenters[0].present(expectedWindow, expected),
      this.#presenters[1].present(foundWindow, found),
    ]);
    const { extent, start } = expectedWindow;
    if (expectedRows === null || foundRows === null) {
      const what = `rows from ${start} on of ${extentLabels.name(extent)}`;
      this.#differences.add(what, readable(expectedRows), readable(foundRows));
      return;
    }
    const count = Math.max(expectedWindow.count, foundWindow.count);
    for (let index = start; index < start + count; index += 1) {
      const rowId = formatRowId({ version: extent.version, ordinal: extent.ordinal, index });
      this.#compareRow(`row ${rowId} of table ${extent.tableId}`, expectedRows.get(index), foundRows.get(index));
    }
  }

  #compareRow(what: string, expected: VisibleRow | undefined, found: VisibleRow | undefined): void {
    const differences = this.#differences;
    if (!expected || !found) {
      if (expected || found) differences.add(what, expected && 'it to be there', found && 'it');
      return;
    }
    if (expected.version !== found.version) differences.add(`${what}: version`, expected.version, found.version);
    if (expected.body === found.body) return;
    if (expected.body === null || found.body === null) {
      differences.add(what, expected.body ?? 'it to be deleted', found.body ?? 'it deleted');
      return;
    }
    const column = firstDifferentColumn(expected.body, found.body);
    if (column === null) differences.add(`${what}: body`, expected.body, found.body);
    else differences.add(`${what}: column ${JSON.stringify(column.id)}`, column.expected, column.found);
  }
}

function readable(rows: ReadonlyMap<number, VisibleRow> | null): string {
  return rows === null ? 'rows that cannot be read (no schema, or a line feed in a body)' : 'rows';
}

function firstDifferentColumn(
  expected: string,
  found: string,
): { readonly id: string; readonly expected: string | null; readonly found: string | null } | null {
  const [a, b] = [expected, found].map((body) => new Map(parseRow(body).map(({ id, token }) => [id, token])));
  for (const id of new Set([...a!.keys(), ...b!.keys()])) {
    if (a!.get(id) !== b!.get(id)) return { id, expected: a!.get(id) ?? null, found: b!.get(id) ?? null };
  }
  return null;
}
