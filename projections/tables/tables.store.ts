/** Reads and writes tables, their schemas and generations: set-based, one statement per kind. */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { decodeSchema, encodeSchema } from '../../src/language/values/table-schema.ts';
import { storedAppLinks, storedGenerations, storedSchemas, storedTables } from './table.entity.ts';
import type { StoredSchema, Table } from './table.ts';

const selectTables: Statement<Table> = {
  name: 'select_tables',
  text: `select ${storedTables.columns()} from tables where id = any($1::uuid[]) and not deleted`,
};

/** The tables with these IDs that are not deleted. */
export async function findTables(tx: Tx, ids: readonly string[]): Promise<Table[]> {
  return (await tx.query(selectTables, [ids])).rows;
}

/** `insertTables` stores new tables, `updateTables` existing ones. */
export const insertTables = storedTables.insert('insert_tables');
export const updateTables = storedTables.update('update_tables', [
  'version',
  'generation',
  'schemaVersion',
  'widened',
  'rows',
  'rowBytesMax',
  'tail',
  'retainsIds',
  'keyColumns',
  'keySince',
  'name',
  'deleted',
]);

export const insertGenerations = storedGenerations.insert('insert_generations');

const selectSchemas: Statement<{ tableId: string; version: bigint; columns: string }> = {
  name: 'select_schemas',
  text: `select ${storedSchemas.columns('schemas')} from tables
    join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
    where tables.id = any($1::uuid[]) and not tables.deleted`,
};

/** The present schemas of these tables. */
export async function findSchemas(tx: Tx, tableIds: readonly string[]): Promise<StoredSchema[]> {
  const { rows } = await tx.query(selectSchemas, [tableIds]);
  return rows.map(({ tableId, version, columns }) => ({ tableId, version, schema: decodeSchema(JSON.parse(columns)) }));
}

export const insertSchemas = storedSchemas.insert('insert_schemas');

/** A schema as it is stored. */
export function schemaRow({ tableId, version, schema }: StoredSchema): {
  tableId: string;
  version: bigint;
  columns: string;
} {
  return { tableId, version, columns: JSON.stringify(encodeSchema(schema)) };
}

export const insertAppLinks = storedAppLinks.insert('insert_app_links');
