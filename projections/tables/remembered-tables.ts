/** What a partition remembers of its recently used tables from batch to batch: the tables, their schemas, and their extents. */
import type { RowAddress } from '../../src/events/event.ts';
import type { TableSchema } from '../../src/values/table-schema.ts';
import { ExtentMap } from './extent-map.ts';
import type { Extent, Table } from './table.ts';
import type { TablesState } from './tables.state.ts';

/** How much is remembered; past it everything is dropped, because that is simple and rare. */
const tablesMax = 1000;
const extentsMax = 10_000;

export class RememberedTables {
  readonly #tables = new Map<string, { readonly table: Table; readonly schema: TableSchema }>();
  readonly #extents = new ExtentMap();

  /** Remembers the state at the end of a batch. */
  take(state: TablesState): void {
    for (const table of state.all()) {
      // No schema is loaded if no decision needed it.
      const schema = state.findSchema(table);
      if (schema !== null) this.#tables.set(table.id, { table, schema });
    }
    for (const extent of state.allExtents()) this.#extents.set(extent);
  }

  get hasRoom(): boolean {
    return this.#tables.size < tablesMax && this.#extents.size < extentsMax;
  }

  table(tableId: string): { readonly table: Table; readonly schema: TableSchema } | null {
    return this.#tables.get(tableId) ?? null;
  }

  extent(key: bigint): Extent | null {
    return this.#extents.find(key);
  }

  extentOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Extent | null {
    return this.#extents.extentOf(tableId, row);
  }
}
