/**
 * The memory of a partition from batch to batch: its recently used tables, their schemas, extents, and rows that were
 * patched or looked up ahead.
 */
import type { RowAddress } from '../../src/language/events/row-id.ts';
import type { TableSchema } from '../../src/language/values/table-schema.ts';
import { PairMap } from '../../src/log/batch/pair-map.ts';
import { ChangedRows } from './changed-rows.ts';
import { ExtentMap } from './extent-map.ts';
import type { Extent, StoredRow, Table, WantedPlace } from './table.ts';
import type { TablesState } from './tables.state.ts';

/** The maximum of remembered tables and extents. Past it everything is dropped, because that is simple and rare. */
const tablesMax = 1000;
const extentsMax = 10_000;

/**
 * How many recently patched rows are remembered at least, and the maximum length of a remembered body, in characters.
 */
const rowsMin = 1000;
const bodyLengthMax = 2000;

/** If this many rows were looked up ahead and not patched, all of them are dropped. */
const rowsAheadMax = 3000;

/** By extent and index. Null: the row was patched, and its body is too long to be kept. */
type RecentRows = PairMap<bigint, number, StoredRow | null>;

export class RememberedTables {
  readonly #tables = new Map<string, { readonly table: Table; readonly schema: TableSchema }>();
  readonly #extents = new ExtentMap(null);
  readonly #changedRows = new ChangedRows();
  #rows: RecentRows = new PairMap(null);
  /** The rows before `#rows`. The oldest are dropped together, which costs less than keeping all in order. */
  #olderRows: RecentRows = new PairMap(null);
  #rowCount = 0;
  /** The rows that were looked up ahead and have not been patched since. */
  #rowsAhead: PairMap<bigint, number, StoredRow> = new PairMap(null);
  #rowsAheadCount = 0;
  /** How many patched rows have been remembered, including forgotten ones. */
  #taken = 0;

  /** Remembers the state at the end of a batch. */
  take(state: TablesState): void {
    for (const table of state.all()) {
      // No schema is loaded if no decision needed it.
      const schema = state.findSchema(table);
      if (schema !== null) this.#tables.set(table.id, { table, schema });
    }
    for (const extent of state.allExtents()) {
      if (extent.changed && this.#extents.find(extent.key)?.changed === false) this.#changedRows.begin(extent);
      this.#extents.set(extent);
    }
    for (const row of state.changedRows()) {
      this.#changedRows.add(row.extent.key, row.index);
      // Without the null, an older body of the row would be taken for the present one.
      this.#rows.set(row.extent.key, row.index, (row.body?.length ?? 0) <= bodyLengthMax ? row : null);
      this.#rowCount += 1;
      this.#taken += 1;
      if (this.#rowsAhead.delete(row.extent.key, row.index)) this.#rowsAheadCount -= 1;
    }
    if (this.#rowCount >= rowsMin) {
      this.#olderRows = this.#rows;
      this.#rows = new PairMap(null);
      this.#rowCount = 0;
    }
  }

  /** A state with many extents, such as an import leaves, is not remembered. */
  hasRoomFor({ extentCount }: TablesState): boolean {
    return this.#tables.size < tablesMax && this.#extents.size + extentCount < extentsMax;
  }

  table(tableId: string): { readonly table: Table; readonly schema: TableSchema } | null {
    return this.#tables.get(tableId) ?? null;
  }

  extent(key: bigint): Extent | null {
    return this.#extents.find(key);
  }

  /**
   * Looks up rows that later events patch or delete, and remembers them. Leaves out rows of unknown extents, and tables
   * with long rows. `find` reads rows from Postgres, and leaves out uncommitted ones. Rejects if `find` does; then
   * nothing has changed.
   */
  async lookAhead(
    named: readonly (RowAddress & { readonly tableId: string })[],
    find: (wanted: readonly WantedPlace[]) => Promise<readonly StoredRow[]>,
  ): Promise<void> {
    const takenBefore = this.#taken;
    // Reads may not see the batch in flight yet. All rows that it patched are remembered, and `find` leaves out the
    // rows that it added.
    const wanted = named.flatMap((row) => {
      const [extent, table] = [this.extentOf(row.tableId, row), this.#tables.get(row.tableId)?.table];
      const isThere = extent !== null && extent.generation === table?.generation && row.index < extent.rows;
      return isThere && table!.rowBytesMax <= bodyLengthMax && !this.#knows(extent.key, row.index)
        ? [{ extent, index: row.index, mayHaveChange: this.mayHaveChange(extent.key, row.index) }]
        : [];
    });
    if (wanted.length === 0) return;
    const found = await find(wanted);
    // If a row was patched in the meantime, `find` may have returned its former body. Only the remembered rows show
    // that a row was patched, so if too many were patched since, nothing that was found can be trusted.
    if (this.#taken - takenBefore > rowsMin) return;
    if (this.#rowsAheadCount > rowsAheadMax) {
      this.#rowsAhead = new PairMap(null);
      this.#rowsAheadCount = 0;
    }
    for (const row of found) {
      if (this.#knows(row.extent.key, row.index)) continue;
      this.#rowsAhead.set(row.extent.key, row.index, row);
      this.#rowsAheadCount += 1;
    }
  }

  /** The row at an index of an extent, if it was recently patched or looked up ahead. */
  row(extent: bigint, index: number): StoredRow | null {
    const patched = this.#patched(extent, index);
    return patched === undefined ? (this.#rowsAhead.get(extent, index) ?? null) : patched;
  }

  #knows(extent: bigint, index: number): boolean {
    return this.#patched(extent, index) !== undefined || this.#rowsAhead.get(extent, index) !== undefined;
  }

  #patched(extent: bigint, index: number): StoredRow | null | undefined {
    const row = this.#rows.get(extent, index);
    return row === undefined ? this.#olderRows.get(extent, index) : row;
  }

  /**
   * Whether a row of an extent was patched or deleted up to the last batch that was taken; also true if that is
   * unknown.
   */
  mayHaveChange(extent: bigint, index: number): boolean {
    return this.#extents.find(extent)?.changed !== false && this.#changedRows.mayHave(extent, index);
  }

  extentOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Extent | null {
    return this.#extents.extentOf(tableId, row);
  }
}
