/** What HTTP reads of tables. */
import type { Database } from '../../src/database/database.ts';
import type { Statement } from '../../src/database/pipelined-client.ts';
import { decodeSchema, type TableSchema } from '../../src/values/table-schema.ts';

/** The result of a query on a table, or why there is none. */
export type TableAnswer<T> = T | 'table_not_found' | 'payment_required';

export interface TableSummary {
  readonly id: string;
  readonly name: string;
}

/** A place in the list of a team's tables: after the table that this version created under this ID. */
export interface TablePosition {
  readonly created: bigint;
  readonly id: string;
}

export interface TablesPage {
  readonly tables: readonly TableSummary[];
  /** Where the next page begins; null when this is the last. */
  readonly next: TablePosition | null;
}

export interface TableDetails {
  readonly name: string;
  readonly version: bigint;
  /** When it was created, in milliseconds of log time since 1970. */
  readonly createdAt: number;
  readonly rows: number;
  readonly schema: TableSchema;
  /** The apps that it was linked to, sorted by code point. */
  readonly appIds: readonly string[];
}

interface TableRow extends Omit<TableDetails, 'schema'> {
  readonly suspended: boolean;
  readonly columns: string;
}

const selectTable: Statement<TableRow> = {
  name: 'read_table',
  text: `select teams.suspended, tables.name, tables.version, tables.created_at::float8 as "createdAt", tables.rows::float8, schemas.columns,
      array(select app_id from app_links where app_links.table_id = tables.id order by app_id collate "C") as "appIds"
    from tables join teams on teams.id = tables.team_id
    join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
    where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
};

const selectLink: Statement = {
  name: 'read_app_link',
  text: `select from app_links join tables on tables.id = app_links.table_id
    where app_links.table_id = $1 and app_links.app_id = $2 and tables.team_id = $3`,
};

/**
 * A page in the order of creation, from the index `tables_listed`. `$3` and `$4`: the last table before the page; `$5`: how many tables
 * to read.
 */
export const selectTables = `
  select id, name, created from tables where team_id = $1 and not deleted and (created, id) > ($3::int8, $4::uuid)
    and ($2::text is null or exists (select from app_links where app_links.table_id = tables.id and app_links.app_id = $2))
  order by created, id limit $5`;

/** Before every table: versions are at least 0, and no table has this ID. */
const beforeAll: TablePosition = { created: 0n, id: '00000000-0000-0000-0000-000000000000' };

/** A page ends at about this many bytes of JSON, as a page of rows does, however many tables were asked for (docs/spec/decisions.md 3). */
const pageBytesMax = 16 * 1024 * 1024;

const selectVersion: Statement<{ version: bigint }> = {
  name: 'read_table_version',
  text: 'select version from tables where id = $1 and team_id = $2 and not deleted',
};

const selectColumns: Statement<{ columns: string }> = {
  name: 'read_columns',
  text: `select schemas.columns from tables
    join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
    where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
};

export class TableQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * A page of the team's tables in order of creation (docs/spec/decisions.md 3): of all, or of those linked to an app. `from`: where it
   * begins; null: at the first table. `limit`: how many tables it may have.
   */
  async list(teamId: string, appId: string | null, from: TablePosition | null, limit: number): Promise<TablesPage> {
    const { created, id } = from ?? beforeAll;
    const { rows } = await this.#database.pool.query<TableSummary & { readonly created: string }>(
      selectTables, [teamId, appId, created, id, limit + 1],
    );
    return cutPage(rows.map((row) => ({ ...row, created: BigInt(row.created) })), limit);
  }

  /** Whether a table of the team is linked to an app. Also true of a deleted table, which other queries report as missing. */
  async isLinked(teamId: string, tableId: string, appId: string): Promise<boolean> {
    const { rows } = await this.#database.reader.query(selectLink, [tableId, appId, teamId]);
    return rows.length > 0;
  }

  /** Everything about a table except its rows. */
  async table(teamId: string, tableId: string): Promise<TableAnswer<TableDetails>> {
    const { rows: [found] } = await this.#database.reader.query(selectTable, [tableId, teamId]);
    if (found === undefined) return 'table_not_found';
    const { suspended, columns, ...table } = found;
    return suspended ? 'payment_required' : { ...table, schema: decodeSchema(JSON.parse(columns)) };
  }

  /** The IDs of a table's columns, in order; empty if the team has no such table. */
  async columnIds(teamId: string, tableId: string): Promise<readonly string[]> {
    const { rows } = await this.#database.reader.query(selectColumns, [tableId, teamId]);
    return rows.flatMap(({ columns }) => decodeSchema(JSON.parse(columns)).columns.map((column) => column.id));
  }

  /** The version of a table's data; null if the team has no such table. */
  async version(teamId: string, tableId: string): Promise<bigint | null> {
    const { rows } = await this.#database.reader.query(selectVersion, [tableId, teamId]);
    return rows[0]?.version ?? null;
  }
}

/** The first of these tables: at most `limit`, and about `bytesMax` bytes of JSON, but at least one if there is any. */
export function cutPage(found: readonly (TableSummary & TablePosition)[], limit: number, bytesMax = pageBytesMax): TablesPage {
  const tables: TableSummary[] = [];
  let bytes = 0;
  for (const { id, name } of found.slice(0, limit)) {
    bytes += Buffer.byteLength(JSON.stringify({ id, name })) + 1;
    if (tables.length > 0 && bytes > bytesMax) break;
    tables.push({ id, name });
  }
  const last = found[tables.length - 1];
  return { tables, next: last === undefined || tables.length === found.length ? null : { created: last.created, id: last.id } };
}
