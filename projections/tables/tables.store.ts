/** Tables, their schemas and generations, as a batch reads and writes them: set-based, a statement a kind. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { Statement, Tx } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import { decodeSchema, encodeSchema } from '../../src/values/table-schema.ts';
import type { Team } from '../teams/team.ts';
import { teamColumns, toTeam } from '../teams/teams.store.ts';
import type { AppLink, Generation, StoredSchema, Table } from './table.ts';

const selectTables: Statement = {
  name: 'select_tables',
  text: `select tables.id, tables.team_id, tables.name, tables.created, tables.version, tables.generation,
      tables.schema_version, tables.widened, tables.rows, tables.row_bytes_max, tables.tail, tables.keeps, tables.created_at,
      ${teamColumns}
    from tables join teams on teams.id = tables.team_id where tables.id = any($1::uuid[]) and not tables.deleted`,
};

/** Tables that were not deleted, and the teams that have them. */
export async function findTables(tx: Tx, ids: readonly string[]): Promise<{ table: Table; team: Team }[]> {
  const { rows } = await tx.query(selectTables, [ids]);
  return rows.map((row) => {
    const [id, teamId, name, created, version, generation, schemaVersion, widened, count, rowBytesMax, tail, keeps,
      createdAt] = row;
    const table = {
      id, teamId, name, created, version, generation, schemaVersion, widened, rows: Number(count), rowBytesMax, tail, keeps,
      createdAt: Number(createdAt), deleted: false,
    };
    return { table, team: toTeam(row.slice(13)) };
  });
}

const insertTables = new RowsStatement<Table>(
  'insert_tables',
  [
    ['uuid', (table) => table.id], ['uuid', (table) => table.teamId], ['text', (table) => table.name],
    ['int8', (table) => table.created], ['int8', (table) => table.version], ['int8', (table) => table.generation],
    ['int8', (table) => table.schemaVersion], ['int8', (table) => table.widened], ['int8', (table) => table.rows],
    ['int4', (table) => table.rowBytesMax], ['int8', (table) => table.tail], ['bool', (table) => table.keeps],
    ['int8', (table) => table.createdAt], ['bool', (table) => table.deleted],
  ],
  (rows) => `insert into tables
      (id, team_id, name, created, version, generation, schema_version, widened, rows, row_bytes_max, tail, keeps,
        created_at, deleted)
    select * from ${rows} as given`,
);

/** Tables that are new. */
export function insertNewTables(tables: readonly Table[]): BoundStatement {
  return insertTables.bind(tables);
}

const updateTables = new RowsStatement<Table>(
  'update_tables',
  [
    ['uuid', (table) => table.id], ['int8', (table) => table.version], ['int8', (table) => table.generation],
    ['int8', (table) => table.schemaVersion], ['int8', (table) => table.widened], ['int8', (table) => table.rows],
    ['int4', (table) => table.rowBytesMax], ['int8', (table) => table.tail], ['bool', (table) => table.keeps],
    ['text', (table) => table.name], ['bool', (table) => table.deleted],
  ],
  (rows) => `update tables set version = given.version, generation = given.generation,
      schema_version = given.schema_version, widened = given.widened, rows = given.rows,
      row_bytes_max = given.row_bytes_max, tail = given.tail, keeps = given.keeps, name = given.name,
      deleted = given.deleted
    from ${rows} as given(id, version, generation, schema_version, widened, rows, row_bytes_max, tail, keeps, name,
      deleted)
    where tables.id = given.id`,
);

/** Tables that were there before. */
export function storeTables(tables: readonly Table[]): BoundStatement {
  return updateTables.bind(tables);
}

const insertGenerations = new RowsStatement<Generation>(
  'insert_generations',
  [
    ['uuid', (generation) => generation.tableId], ['int8', (generation) => generation.version],
    ['int8', (generation) => generation.ended], ['int8', (generation) => generation.endedAt],
    ['int8', (generation) => generation.schemaVersion], ['int8', (generation) => generation.widened],
  ],
  (rows) => `insert into generations (table_id, version, ended, ended_at, schema_version, widened) select * from ${rows} as given`,
);

/** Generations that were replaced. */
export function storeGenerations(generations: readonly Generation[]): BoundStatement {
  return insertGenerations.bind(generations);
}

const selectSchemas: Statement = {
  name: 'select_schemas',
  text: `select schemas.table_id, schemas.version, schemas.columns from tables
    join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
    where tables.id = any($1::uuid[]) and not tables.deleted`,
};

/** The present schemas of these tables. */
export async function findSchemas(tx: Tx, tableIds: readonly string[]): Promise<StoredSchema[]> {
  const { rows } = await tx.query(selectSchemas, [tableIds]);
  return rows.map(([tableId, version, columns]) => ({ tableId, version, schema: decodeSchema(JSON.parse(columns)) }));
}

const insertSchemas = new RowsStatement<StoredSchema>(
  'insert_schemas',
  [
    ['uuid', (stored) => stored.tableId], ['int8', (stored) => stored.version],
    ['text', (stored) => JSON.stringify(encodeSchema(stored.schema))],
  ],
  (rows) => `insert into table_schemas (table_id, version, columns) select * from ${rows} as given`,
);

export function storeSchemas(schemas: readonly StoredSchema[]): BoundStatement {
  return insertSchemas.bind(schemas);
}

const insertAppLinks = new RowsStatement<AppLink>(
  'insert_app_links',
  [['uuid', (extent) => extent.tableId], ['text', (extent) => extent.appId]],
  (rows) => `insert into app_links (table_id, app_id) select * from ${rows} as given`,
);

export function storeAppLinks(extents: readonly AppLink[]): BoundStatement {
  return insertAppLinks.bind(extents);
}
