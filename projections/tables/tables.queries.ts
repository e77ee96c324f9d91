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

const selectTables = `
  select id, name from tables where team_id = $1 and not deleted
    and ($2::text is null or exists (select from app_links where app_links.table_id = tables.id and app_links.app_id = $2))
  order by created, id`;

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

  /** The team's tables in order of creation (docs/spec/decisions.md 3): all, or those linked to an app. */
  async list(teamId: string, appId: string | null): Promise<TableSummary[]> {
    const { rows } = await this.#database.pool.query<TableSummary>(selectTables, [teamId, appId]);
    return rows;
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
