/** Tables, schemas, links, tail rows and changes, as a batch reads and writes them: set-based, a statement a kind. */
import type { PipelinedClient, ResultRow, Statement } from '../../src/database/pipelined-client.ts';
import { decodeSchema, encodeSchema, type TableSchema } from '../../src/schema/table-schema.ts';
import type { RowAddress } from '../../src/events/event.ts';
import type { Link, StoredRow, Table } from '../decision.ts';

type Tx = Pick<PipelinedClient, 'query'>;

const selectTables: Statement = {
  name: 'select_tables',
  text: `select id, team_id, name, created, version, generation, schema_version, widened, rows, row_bytes_max, tail
    from tables where id = any($1::uuid[])`,
};

export async function findTables(tx: Tx, ids: readonly string[]): Promise<Table[]> {
  const { rows } = await tx.query(selectTables, [ids]);
  return rows.map(
    ([id, teamId, name, created, version, generation, schemaVersion, widened, count, rowBytesMax, tail]) => ({
      id, teamId, name, created, version, generation, schemaVersion, widened, rows: Number(count), rowBytesMax, tail,
    }),
  );
}

const upsertTables: Statement = {
  name: 'upsert_tables',
  text: `insert into tables
      (id, team_id, name, created, version, generation, schema_version, widened, rows, row_bytes_max, tail)
    select * from unnest($1::uuid[], $2::uuid[], $3::text[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[],
      $9::int8[], $10::int4[], $11::int8[])
    on conflict (id) do update set name = excluded.name, version = excluded.version, generation = excluded.generation,
      schema_version = excluded.schema_version, widened = excluded.widened, rows = excluded.rows,
      row_bytes_max = excluded.row_bytes_max, tail = excluded.tail`,
};

export function storeTables(tx: Tx, tables: readonly Table[]): Promise<unknown> {
  return tx.query(upsertTables, [
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

export function storeSchemas(tx: Tx, schemas: readonly StoredSchema[]): Promise<unknown> {
  return tx.query(insertSchemas, [
    schemas.map((stored) => stored.tableId),
    schemas.map((stored) => stored.version),
    schemas.map((stored) => JSON.stringify(encodeSchema(stored.schema))),
  ]);
}

const insertAppLinks: Statement = {
  name: 'insert_app_links',
  text: `insert into app_links (table_id, app_id) select * from unnest($1::uuid[], $2::text[])`,
};

export function storeAppLinks(tx: Tx, links: readonly { tableId: string; appId: string }[]): Promise<unknown> {
  return tx.query(insertAppLinks, [links.map((link) => link.tableId), links.map((link) => link.appId)]);
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

const selectRows: Statement = {
  name: 'select_rows',
  text: `select ${linkColumns}, wanted.index, changes.version, changes.body, segment_rows.version, segment_rows.body
    from unnest($1::uuid[], $2::int8[], $3::int4[], $4::int4[]) as wanted(table_id, version, ordinal, index)
    join links on links.table_id = wanted.table_id and links.version = wanted.version
      and links.ordinal = wanted.ordinal and wanted.index < links.rows
    left join changes on changes.link = links.key and changes.index = wanted.index
    left join segment_rows on changes.link is null
      and segment_rows.segment = links.segment and segment_rows.index = links.first + wanted.index`,
};

/** These rows as they are stored; those that never were are left out. */
export async function findRows(tx: Tx, wanted: readonly (RowAddress & { tableId: string })[]): Promise<StoredRow[]> {
  const { rows } = await tx.query(selectRows, [
    wanted.map((row) => row.tableId),
    wanted.map((row) => row.version),
    wanted.map((row) => row.ordinal),
    wanted.map((row) => row.index),
  ]);
  return rows.map((row): StoredRow => {
    const [index, changeVersion, changeBody, tailVersion, body] = row.slice(linkColumnCount);
    const link = toLink(row);
    if (changeVersion !== null) return { link, index, version: changeVersion, body: changeBody, stored: 'presented' };
    if (body === null) throw new Error(`row ${index} of link ${link.key} has no body: the read model is damaged`);
    if (tailVersion !== null) return { link, index, version: tailVersion, body, stored: 'presented' };
    return { link, index, version: link.version, body, stored: 'received' };
  });
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

export function storeLinks(tx: Tx, links: readonly Link[]): Promise<unknown> {
  return tx.query(upsertLinks, [
    links.map((link) => link.key),
    links.map((link) => link.tableId),
    links.map((link) => link.version),
    links.map((link) => link.ordinal),
    links.map((link) => link.generation),
    links.map((link) => link.schemaVersion),
    links.map((link) => link.wrap),
    links.map((link) => link.plain),
    links.map((link) => link.segment),
    links.map((link) => link.first),
    links.map((link) => link.rows),
    links.map((link) => link.bytes),
    links.map((link) => link.changed),
    links.map((link) => link.deleted),
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

export function storeTailRows(tx: Tx, rows: readonly TailRow[]): Promise<unknown> {
  return tx.query(insertTailRows, [
    rows.map((row) => row.segment),
    rows.map((row) => row.index),
    rows.map((row) => row.version),
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

export function storeChanges(tx: Tx, rows: readonly StoredRow[]): Promise<unknown> {
  return tx.query(upsertChanges, [
    rows.map((row) => row.link.key),
    rows.map((row) => row.index),
    rows.map((row) => row.version),
    rows.map((row) => row.body ?? '').join('\n'),
  ]);
}
