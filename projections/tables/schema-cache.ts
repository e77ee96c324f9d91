/**
 * Schemas that were read from Postgres, by table and version. A schema of a version never changes, so what is here is
 * right for as long as the read model lives; only what is committed may come in.
 */
import type { TableSchema } from '../../src/values/table-schema.ts';
import type { StoredSchema } from './table.ts';

export class SchemaCache {
  readonly #byTable = new Map<string, { version: bigint; schema: TableSchema }>();
  readonly #entriesMax: number;

  /** Holds the newest schema seen of at most `entriesMax` tables; the one that was put first goes first. */
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
