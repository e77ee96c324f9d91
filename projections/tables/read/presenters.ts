/** Presenters for the schemas under which HTTP reads rows. */
import type { Database } from '../../../src/storage/database/database.ts';
import type { Statement } from '../../../src/storage/database/pipelined-client.ts';
import {
  presenterOf,
  presentersOf,
  type Presenter,
  type PresenterFor,
} from '../../../src/language/values/presentation.ts';
import { decodeSchema, type TableSchema } from '../../../src/language/values/table-schema.ts';
import { SchemaCache } from '../schema-cache.ts';
import { parseForm } from './stored-body.ts';

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

  /** The presenters of a table at a version of its schema. Reuse them for many rows. */
  async at(tableId: string, version: bigint, widened: bigint): Promise<PresenterFor> {
    return presentersOf(await this.schema(tableId, version), widened);
  }

  /** The presenter of bodies that do not read as they are stored: as this form says (`parseForm`). */
  async of(tableId: string, version: bigint, form: string): Promise<Presenter> {
    return presenterOf(await this.schema(tableId, version), parseForm(form));
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
