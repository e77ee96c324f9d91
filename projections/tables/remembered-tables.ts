/** What a partition remembers of its recently used tables from batch to batch: the tables, their schemas, extents, and patched rows. */
import { LRUCache } from 'lru-cache';
import type { RowAddress } from '../../src/events/event.ts';
import type { TableSchema } from '../../src/values/table-schema.ts';
import { ExtentMap } from './extent-map.ts';
import type { Extent, StoredRow, Table } from './table.ts';
import type { TablesState } from './tables.state.ts';

/** How much is remembered; past it everything is dropped, because that is simple and rare. */
const tablesMax = 1000;
const extentsMax = 10_000;

/** How many of the rows that were patched last are remembered, and the longest body of one, in characters. */
const rowsMax = 1000;
const bodyLengthMax = 2000;

export class RememberedTables {
  readonly #tables = new Map<string, { readonly table: Table; readonly schema: TableSchema }>();
  readonly #extents = new ExtentMap();
  readonly #rows = new LRUCache<string, StoredRow>({ max: rowsMax });

  /** Remembers the state at the end of a batch. */
  take(state: TablesState): void {
    for (const table of state.all()) {
      // No schema is loaded if no decision needed it.
      const schema = state.findSchema(table);
      if (schema !== null) this.#tables.set(table.id, { table, schema });
    }
    for (const extent of state.allExtents()) this.#extents.set(extent);
    for (const row of state.changedRows()) {
      const name = nameOf(row.extent.key, row.index);
      if ((row.body?.length ?? 0) <= bodyLengthMax) this.#rows.set(name, row);
      else this.#rows.delete(name);
    }
  }

  /** A state of many extents, as an import leaves it, is not remembered. */
  hasRoomFor({ extentCount }: TablesState): boolean {
    return this.#tables.size < tablesMax && this.#extents.size + extentCount < extentsMax;
  }

  table(tableId: string): { readonly table: Table; readonly schema: TableSchema } | null {
    return this.#tables.get(tableId) ?? null;
  }

  extent(key: bigint): Extent | null {
    return this.#extents.find(key);
  }

  /** The row at an index of an extent, if it was patched lately. */
  row(extent: bigint, index: number): StoredRow | null {
    return this.#rows.get(nameOf(extent, index)) ?? null;
  }

  extentOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Extent | null {
    return this.#extents.extentOf(tableId, row);
  }
}

function nameOf(extent: bigint, index: number): string {
  return `${extent} ${index}`;
}
