/** Presenters for the schemas under which HTTP reads rows. */
import type { Database } from '../../src/storage/database/database.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import { presentersOf, type PresenterFor } from '../../src/language/values/presentation.ts';
import { decodeSchema, type TableSchema } from '../../src/language/values/table-schema.ts';
import { SchemaCache } from './schema-cache.ts';

const selectSchema: Statement<{ columns: string }> = {
  name: 'read_schema',
  text: 'select columns from table_schemas where table_id = $1 and version = $2',
};

export class Presenters {
  readonly #database: Database;
  readonly #schemas = new SchemaCache();

  constructor(database: Database) {
    this.#database = database;
  }

  /** The presenters of this version of a table's schema. Reuse them for many rows. */
  async of(tableId: string, version: bigint): Promise<PresenterFor> {
    return presentersOf(await this.schema(tableId, version));
  }

  /** This version of a table's schema. */
  async schema(tableId: string, version: bigint): Promise<TableSchema> {
    const cached = this.#schemas.find(tableId, version);
    if (cached) return cached;
    const { rows } = await this.#database.reader.query(selectSchema, [tableId, version]);
    if (rows.length === 0) throw new Error(`table ${tableId} has no schema of version ${version}`);
    const schema = decodeSchema(JSON.parse(rows[0]!.columns));
    this.#schemas.put({ tableId, version, schema });
    return schema;
  }
}
