/** What is remembered of a partition's tables from batch to batch: those that it dealt with lately, their schemas, and their links. */
import type { RowAddress } from '../../src/events/event.ts';
import type { TableSchema } from '../../src/values/table-schema.ts';
import { LinkMap } from './link-map.ts';
import type { Link, Table } from './table.ts';
import type { TablesState } from './tables.state.ts';

/** How much is remembered; past it all is forgotten, because that is simple and rare. */
const tablesMax = 1000;
const linksMax = 10_000;

export class RememberedTables {
  readonly #tables = new Map<string, { readonly table: Table; readonly schema: TableSchema }>();
  readonly #links = new LinkMap();

  /** Remembers what a batch knew in the end. */
  take(state: TablesState): void {
    for (const table of state.all()) {
      // It may be missing where no decision asked for it.
      const schema = state.findSchema(table);
      if (schema !== null) this.#tables.set(table.id, { table, schema });
    }
    for (const link of state.allLinks()) this.#links.set(link);
  }

  get hasRoom(): boolean {
    return this.#tables.size < tablesMax && this.#links.size < linksMax;
  }

  table(tableId: string): { readonly table: Table; readonly schema: TableSchema } | null {
    return this.#tables.get(tableId) ?? null;
  }

  link(key: bigint): Link | null {
    return this.#links.find(key);
  }

  linkOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Link | null {
    return this.#links.linkOf(tableId, row);
  }
}
