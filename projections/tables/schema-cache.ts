/**
 * Schemas read from Postgres, by table and version. The schema of a version never changes, so an entry is valid for the
 * life of the read model. Add only committed schemas.
 */
import type { TableSchema } from '../../src/language/values/table-schema.ts';
import type { StoredSchema } from './table.ts';

export class SchemaCache {
  readonly #byTable = new Map<string, { version: bigint; schema: TableSchema }>();
  readonly #entriesMax: number;

  /**
   * Holds the newest schema that was added for each of at most `entriesMax` tables. Evicts the table that was added
   * first.
   */
  constructor(entriesMax = 1000) {
    this.#entriesMax = entriesMax;
  }

  knows(tableId: string): boolean {
    return this.#byTable.has(tableId);
  }

  find(tableId: string, version: bigint): TableSchema | undefined {
    const cached = this.#byTable.get(tableId);
    return cached?.version === version ? cached.schema : undefined;
  }

  put({ tableId, version, schema }: StoredSchema): void {
    this.#byTable.delete(tableId);
    this.#byTable.set(tableId, { version, schema });
    if (this.#byTable.size > this.#entriesMax) {
      const [oldest] = this.#byTable.keys();
      this.#byTable.delete(oldest!);
    }
  }
}
