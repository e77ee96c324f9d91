/** Tables, schemas, links, tail rows and changes, as a batch reads and writes them: set-based, a statement a kind. */
import { arrayText } from '../../src/database/array-text.ts';
import { bind, type BoundStatement } from '../../src/database/combine.ts';
import type { PipelinedClient, ResultRow, Statement } from '../../src/database/pipelined-client.ts';
import { decodeSchema, encodeSchema, type TableSchema } from '../../src/schema/table-schema.ts';
import type { RowAddress } from '../../src/events/event.ts';
import type { Link, StoredRow, Table, Team } from '../decision.ts';
import { teamColumns, toTeam } from '../teams/teams.store.ts';

type Tx = Pick<PipelinedClient, 'query'>;

const selectTables: Statement = {
  name: 'select_tables',
  text: `select tables.id, tables.team_id, tables.name, tables.created, tables.version, tables.generation,
      tables.schema_version, tables.widened, tables.rows, tables.row_bytes_max, tables.tail, ${teamColumns}
    from tables join teams on teams.id = tables.team_id where tables.id = any($1::uuid[])`,
};

/** Tables, and the teams that have them. */
export async function findTables(tx: Tx, ids: readonly string[]): Promise<{ table: Table; team: Team }[]> {
  const { rows } = await tx.query(selectTables, [ids]);
  return rows.map((row) => {
    const [id, teamId, name, created, version, generation, schemaVersion, widened, count, rowBytesMax, tail] = row;
    const table = {
      id, teamId, name, created, version, generation, schemaVersion, widened, rows: Number(count), rowBytesMax, tail,
    };
    return { table, team: toTeam(row.slice(11)) };
  });
}

const insertTables: Statement = {
  name: 'insert_tables',
  text: `insert into tables
      (id, team_id, name, created, version, generation, schema_version, widened, rows, row_bytes_max, tail)
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[],
      $9::int8[], $10::int4[], $11::int8[])`,
};

/** Tables that are new. */
export function insertNewTables(tables: readonly Table[]): BoundStatement {
  return bind(insertTables, [
    tables.map((table) => table.id),
    tables.map((table) => table.teamId),
    tables.map((table) => table.name),
    tables.map((table) => table.created),
    tables.map((table) => table.version),
    tables.map((table) => table.generation),
    tables.map((table) => table.schemaVersion),
    tables.map((table) => table.widened),
    tables.map((table) => table.rows),
    tables.map((table) => table.rowBytesMax),
    tables.map((table) => table.tail),
  ]);
}

const updateTables: Statement = {
  name: 'update_tables',
  text: `update tables set version = changed.version, schema_version = changed.schema_version, widened = changed.widened,
      rows = changed.rows, row_bytes_max = changed.row_bytes_max, tail = changed.tail
    from unnest($1::uuid[], $2::int8[], $3::int8[], $4::int8[], $5::int8[], $6::int4[], $7::int8[])
      as changed(id, version, schema_version, widened, rows, row_bytes_max, tail)
    where tables.id = changed.id`,
};

/** Tables that were there before. */
export function storeTables(tables: readonly Table[]): BoundStatement {
  return bind(updateTables, [
    arrayText(tables.map((table) => table.id)),
    arrayText(tables.map((table) => table.version)),
    arrayText(tables.map((table) => table.schemaVersion)),
    arrayText(tables.map((table) => table.widened)),
    arrayText(tables.map((table) => table.rows)),
    arrayText(tables.map((table) => table.rowBytesMax)),
    arrayText(tables.map((table) => table.tail)),
  ]);
}

const selectSchemas: Statement = {
  name: 'select_schemas',
  text: `select schemas.table_id, schemas.version, schemas.columns from tables
    join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
    where tables.id = any($1::uuid[])`,
};

export interface StoredSchema {
  readonly tableId: string;
  readonly version: bigint;
  readonly schema: TableSchema;
}

/** The present schemas of these tables. */
export async function findSchemas(tx: Tx, tableIds: readonly string[]): Promise<StoredSchema[]> {
  const { rows } = await tx.query(selectSchemas, [tableIds]);
  return rows.map(([tableId, version, columns]) => ({ tableId, version, schema: decodeSchema(JSON.parse(columns)) }));
}

const insertSchemas: Statement = {
  name: 'insert_schemas',
  text: `insert into table_schemas (table_id, version, columns) select * from unnest($1::uuid[], $2::int8[], $3::text[])`,
};

export function storeSchemas(schemas: readonly StoredSchema[]): BoundStatement {
  return bind(insertSchemas, [
    schemas.map((stored) => stored.tableId),
    schemas.map((stored) => stored.version),
    schemas.map((stored) => JSON.stringify(encodeSchema(stored.schema))),
  ]);
}

const insertAppLinks: Statement = {
  name: 'insert_app_links',
  text: `insert into app_links (table_id, app_id) select * from unnest($1::uuid[], $2::text[])`,
};

export function storeAppLinks(links: readonly { tableId: string; appId: string }[]): BoundStatement {
  return bind(insertAppLinks, [links.map((link) => link.tableId), links.map((link) => link.appId)]);
}

const linkColumns = `links.key, links.table_id, links.version, links.ordinal, links.generation, links.schema_version,
  links.wrap, links.plain, links.segment, links.first, links.rows, links.bytes, links.changed, links.deleted`;
const linkColumnCount = 14;

function toLink(row: ResultRow): Link {
  const [key, tableId, version, ordinal, generation, schemaVersion, wrap, plain, segment, first, rows, bytes, changed,
    deleted] = row;
  return {
    key, tableId, version, ordinal, generation, schemaVersion, wrap, plain, segment, first, rows, bytes, changed, deleted,
  };
}

const selectTails: Statement = {
  name: 'select_tails',
  text: `select ${linkColumns} from tables join links on links.key = tables.tail where tables.id = any($1::uuid[])`,
};

/** The open tail links of these tables. */
export async function findTails(tx: Tx, tableIds: readonly string[]): Promise<Link[]> {
  const { rows } = await tx.query(selectTails, [tableIds]);
  return rows.map(toLink);
}

/** The limits keep each look-up a probe of an index: without them the planner may read whole tables once for each row. */
const selectRows: Statement = {
  name: 'select_rows',
  text: `select ${linkColumns}, wanted.index, change.version, change.body, stored.version, stored.body
    from unnest($1::uuid[], $2::int8[], $3::int4[], $4::int4[]) as wanted(table_id, version, ordinal, index)
    join lateral (
      select * from links where links.table_id = wanted.table_id and links.version = wanted.version
        and links.ordinal = wanted.ordinal and wanted.index < links.rows limit 1
    ) links on true
    left join lateral (
      select version, body from changes where changes.link = links.key and changes.index = wanted.index limit 1
    ) change on true
    left join lateral (
      select version, body from segment_rows where change.version is null
        and segment_rows.segment = links.segment and segment_rows.index = links.first + wanted.index limit 1
    ) stored on true`,
};

/** These rows as they are stored; those that never were are left out. */
export async function findRows(tx: Tx, wanted: readonly (RowAddress & { tableId: string })[]): Promise<StoredRow[]> {
  const { rows } = await tx.query(selectRows, [
    arrayText(wanted.map((row) => row.tableId)),
    arrayText(wanted.map((row) => row.version)),
    arrayText(wanted.map((row) => row.ordinal)),
    arrayText(wanted.map((row) => row.index)),
  ]);
  return rows.map((row) => {
    const [index, ...stored] = row.slice(linkColumnCount);
    return toStoredRow(toLink(row), index, stored);
  });
}

const selectRowsOfLinks: Statement = {
  name: 'select_rows_of_links',
  text: `select wanted.place::int4, change.version, change.body, stored.version, stored.body
    from unnest($1::int8[], $2::int8[], $3::int4[], $4::int4[])
      with ordinality as wanted(link, segment, segment_index, index, place)
    left join lateral (
      select version, body from changes where changes.link = wanted.link and changes.index = wanted.index limit 1
    ) change on true
    left join lateral (
      select version, body from segment_rows where change.version is null
        and segment_rows.segment = wanted.segment and segment_rows.index = wanted.segment_index limit 1
    ) stored on true`,
};

/** Rows of links that are known already. Each index is one of its link's. */
export async function findRowsOfLinks(
  tx: Tx,
  wanted: readonly { readonly link: Link; readonly index: number }[],
): Promise<StoredRow[]> {
  const { rows } = await tx.query(selectRowsOfLinks, [
    arrayText(wanted.map(({ link }) => link.key)),
    arrayText(wanted.map(({ link }) => link.segment)),
    arrayText(wanted.map(({ link, index }) => link.first + index)),
    arrayText(wanted.map(({ index }) => index)),
  ]);
  return rows.map(([place, ...stored]) => {
    const { link, index } = wanted[place - 1]!;
    return toStoredRow(link, index, stored);
  });
}

function toStoredRow(link: Link, index: number, stored: ResultRow): StoredRow {
  const [changeVersion, changeBody, tailVersion, body] = stored;
  if (changeVersion !== null) return { link, index, version: changeVersion, body: changeBody, stored: 'presented' };
  if (body === null) throw new Error(`row ${index} of link ${link.key} has no body: the read model is damaged`);
  if (tailVersion !== null) return { link, index, version: tailVersion, body, stored: 'presented' };
  return { link, index, version: link.version, body, stored: 'received' };
}

const upsertLinks: Statement = {
  name: 'upsert_links',
  text: `insert into links (key, table_id, version, ordinal, generation, schema_version, wrap, plain, segment, first, rows,
      bytes, changed, deleted)
    select * from unnest($1::int8[], $2::uuid[], $3::int8[], $4::int4[], $5::int8[], $6::int8[], $7::bool[], $8::bool[],
      $9::int8[], $10::int4[], $11::int4[], $12::int4[], $13::bool[], $14::int4[])
    on conflict (key) do update set rows = excluded.rows, bytes = excluded.bytes, changed = excluded.changed,
      deleted = excluded.deleted`,
};

export function storeLinks(links: readonly Link[]): BoundStatement {
  return bind(upsertLinks, [
    arrayText(links.map((link) => link.key)),
    arrayText(links.map((link) => link.tableId)),
    arrayText(links.map((link) => link.version)),
    arrayText(links.map((link) => link.ordinal)),
    arrayText(links.map((link) => link.generation)),
    arrayText(links.map((link) => link.schemaVersion)),
    arrayText(links.map((link) => link.wrap)),
    arrayText(links.map((link) => link.plain)),
    arrayText(links.map((link) => link.segment)),
    arrayText(links.map((link) => link.first)),
    arrayText(links.map((link) => link.rows)),
    arrayText(links.map((link) => link.bytes)),
    arrayText(links.map((link) => link.changed)),
    arrayText(links.map((link) => link.deleted)),
  ]);
}

const insertTailRows: Statement = {
  name: 'insert_tail_rows',
  text: `insert into segment_rows (segment, index, version, body)
    select * from rows from (unnest($1::int8[], $2::int4[], $3::int8[]), string_to_table($4, E'\\n'))`,
};

export interface TailRow {
  readonly segment: bigint;
  readonly index: number;
  readonly version: bigint;
  readonly body: string;
}

export function storeTailRows(rows: readonly TailRow[]): BoundStatement {
  return bind(insertTailRows, [
    arrayText(rows.map((row) => row.segment)),
    arrayText(rows.map((row) => row.index)),
    arrayText(rows.map((row) => row.version)),
    rows.map((row) => row.body).join('\n'),
  ]);
}

/** No row body is an empty text, so an empty line stands for a deletion. */
const upsertChanges: Statement = {
  name: 'upsert_changes',
  text: `insert into changes (link, index, version, body)
    select link, index, version, nullif(body, '')
    from rows from (unnest($1::int8[], $2::int4[], $3::int8[]), string_to_table($4, E'\\n'))
      as given(link, index, version, body)
    on conflict (link, index) do update set version = excluded.version, body = excluded.body`,
};

export function storeChanges(rows: readonly StoredRow[]): BoundStatement {
  return bind(upsertChanges, [
    arrayText(rows.map((row) => row.link.key)),
    arrayText(rows.map((row) => row.index)),
    arrayText(rows.map((row) => row.version)),
    rows.map((row) => row.body ?? '').join('\n'),
  ]);
}
