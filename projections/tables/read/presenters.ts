/** Presenters for reads by HTTP: they convert stored bodies to the schema that a reader sees. */
import type { Database } from '../../../src/storage/database/database.ts';
import type { Statement } from '../../../src/storage/database/pipelined-client.ts';
import {
  asStored,
  presenterOf,
  presentersOf,
  type Presenter,
  type PresenterFor,
} from '../../../src/language/values/presentation.ts';
import { decodeSchema, type TableSchema } from '../../../src/language/values/table-schema.ts';
import { SchemaCache } from '../schema-cache.ts';
import { presenterOfForm } from './stored-body.ts';

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

  /** The presenter of bodies that are stored as `formInSql` says. */
  async of(tableId: string, version: bigint, form: string | null): Promise<Presenter> {
    if (form === null) return asStored;
    const schema = await this.schema(tableId, version);
    return presenterOfForm(form, (stored) => presenterOf(schema, stored));
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
