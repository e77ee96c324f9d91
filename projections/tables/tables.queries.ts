/** The queries of HTTP about tables. */
import type { Database } from '../../src/storage/database/database.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import type { TableLimits } from '../../src/language/events/limits.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import { decodeSchema, type TableSchema } from '../../src/language/values/table-schema.ts';
import { readGaps } from '../../src/log/progress/versions.ts';
import type { Team } from '../teams/team.ts';
import { refusalOf, refusalOfNew, type GuardedTable } from './guards.ts';
import { columnIdsOf } from './keys/table-key.ts';

/** The result of a query on a table, or why there is none. */
export type TableAnswer<T> = T | 'table_not_found' | 'payment_required';

/** A place in the list of a team's tables: after the table that the event of this version created with this ID. */
export interface TablePosition {
  readonly created: bigint;
  readonly id: string;
}

export interface TablesPage {
  /**
   * The tables as JSON, each with its `id` and `name`, in texts of about 64 KiB. In each text the tables are joined by
   * commas.
   */
  readonly tables: readonly string[];
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
  /** The IDs of the columns of its key; null: it has none. */
  readonly key: readonly string[] | null;
  /** The apps that it was linked to, sorted by code point. */
  readonly appIds: readonly string[];
}

interface TableRow extends Omit<TableDetails, 'schema' | 'key'> {
  readonly keyColumns: string | null;
  readonly suspended: boolean;
  readonly columns: string;
}

const selectTable: Statement<TableRow> = {
  name: 'read_table',
  text: `select teams.suspended, tables.name, tables.version, tables.created_at::float8 as "createdAt",
  tables.rows::float8, tables.key_columns as "keyColumns", schemas.columns,
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

const partBytesMax = 64 * 1024;

/**
 * A page in the order of creation, from the index `tables_listed`, as texts that Node passes on (docs/decisions/0006).
 * Node would have to handle a single text in one turn of the event loop, so there are several. `$3` and `$4`: the last
 * table before the page. `$5`: the maximum number of tables. `$6`: the maximum of bytes; a page has at least one table,
 * if any is left.
 */
export const selectTables = `
  with found as (
    select id, created, format('{"id":"%s","name":%s}', id, to_json(name)) as entry from tables
    where team_id = $1 and not deleted and (created, id) > ($3::int8, $4::uuid)
      and ($2::text is null or exists (select from app_links where app_links.table_id = tables.id
      and app_links.app_id = $2))
    order by created, id limit $5 + 1
  ), measured as (
    select *, row_number() over (order by created, id) as place, sum(octet_length(entry) + 1) over (order by created,
    id) as bytes from found
  ), page as (
    select * from measured where place <= $5 and (place = 1 or bytes <= $6)
  )
  select string_agg(entry, ',' order by place) as tables, max(created) as created, (array_agg(id
  order by place desc))[1] as id,
    (select count(*) from page) < (select count(*) from found) as "isMore"
  from page group by bytes / ${partBytesMax} order by bytes / ${partBytesMax}`;

const readTables: Statement<TablePosition & { readonly tables: string; readonly isMore: boolean }> = {
  name: 'read_tables',
  text: selectTables,
};

/** Before the first table: versions are at least 0, and no table has this ID. */
const beforeAll: TablePosition = { created: 0n, id: '00000000-0000-0000-0000-000000000000' };

/**
 * A page ends at this many bytes of JSON, as a page of rows does, however many tables the client asked for
 * (docs/spec/decisions.md 3).
 */
const pageBytesMax = 16 * 1024 * 1024;

/** The maximum of bytes of a table in a page: each of the 1,024 bytes of a name may be escaped. */
const tableBytesMax = 64 + 1024 * 6;

/** The maximum of bytes of a page with this many tables. */
export function tablesBytesAtMost(limit: number): number {
  return Math.min(pageBytesMax, limit * tableBytesMax);
}

const selectVersion: Statement<{ version: bigint }> = {
  name: 'read_table_version',
  text: 'select version from tables where id = $1 and team_id = $2 and not deleted',
};

const selectTarget: Statement<
  GuardedTable & { readonly rowBytesMax: number; readonly columns: string; readonly gaps: string }
> = {
  name: 'read_target',
  text: `select tables.version, tables.row_bytes_max as "rowBytesMax", teams.suspended, schemas.columns, progress.gaps
    from tables
    join teams on teams.id = tables.team_id join progress on progress.partition = teams.partition
    join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
    where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
};

/** The state of a table that a request needs before its body is read. */
interface FoundTarget {
  /** Without columns if the team has no such table. */
  readonly schema: TableSchema;
  /** No row of the table has more bytes. */
  readonly rowBytesMax: number;
  /** Why the committed state refuses the request, whatever its rows are; null if it does not. */
  readonly refusal: Refusal | null;
}

const selectUse: Statement<Pick<Team, 'suspended' | 'tables' | 'tablesMax'>> = {
  name: 'read_use_of_tables',
  text: 'select suspended, tables::float8, tables_max::float8 as "tablesMax" from teams where id = $1',
};

const selectAmong: Statement<{ id: string }> = {
  name: 'read_tables_among',
  text: 'select id from tables where id = any($2::uuid[]) and team_id = $1 and not deleted',
};

export class TableQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * A page of the team's tables in order of creation (docs/spec/decisions.md 3): of all, or of those linked to an app.
   * `from`: where the page begins; null: at the first table. `limit`: the maximum number of tables.
   */
  async list(
    teamId: string,
    appId: string | null,
    from: TablePosition | null,
    limit: number,
    bytesMax = pageBytesMax,
  ): Promise<TablesPage> {
    const { created, id } = from ?? beforeAll;
    const { rows } = await this.#database.scans.with((client) =>
      client.query(readTables, [teamId, appId, created, id, limit, bytesMax]),
    );
    const last = rows.at(-1);
    return {
      tables: rows.map(({ tables }) => tables),
      next: last?.isMore === true ? { created: last.created, id: last.id } : null,
    };
  }

  /**
   * Whether a table of the team is linked to an app. Also true for a deleted table, which other queries report as
   * missing.
   */
  async isLinked(teamId: string, tableId: string, appId: string): Promise<boolean> {
    const { rows } = await this.#database.reader.query(selectLink, [tableId, appId, teamId]);
    return rows.length > 0;
  }

  /** The IDs in this list that belong to tables of the team. */
  async idsAmong(teamId: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.#database.reader.query(selectAmong, [teamId, ids]);
    return new Set(rows.map(({ id }) => id));
  }

  /** Everything about a table except its rows. */
  async table(teamId: string, tableId: string): Promise<TableAnswer<TableDetails>> {
    const {
      rows: [found],
    } = await this.#database.reader.query(selectTable, [tableId, teamId]);
    if (found === undefined) return 'table_not_found';
    const { suspended, columns, keyColumns, ...table } = found;
    if (suspended) return 'payment_required';
    const key = keyColumns === null ? null : columnIdsOf(keyColumns);
    return { ...table, schema: decodeSchema(JSON.parse(columns)), key };
  }

  /** The table of a request that brings rows, and whether the committed state already refuses the request. */
  async target(teamId: string, tableId: string, ifMatch: bigint | null): Promise<FoundTarget> {
    const {
      rows: [found],
    } = await this.#database.reader.query(selectTarget, [tableId, teamId]);
    if (found === undefined)
      return { schema: { columns: [] }, rowBytesMax: 0, refusal: refusalOf(null, ifMatch, { gaps: [] }) };
    return {
      schema: decodeSchema(JSON.parse(found.columns)),
      rowBytesMax: found.rowBytesMax,
      refusal: refusalOf(found, ifMatch, { gaps: readGaps(found.gaps) }),
    };
  }

  /** Why the committed state refuses a new table of the team; null if it does not. */
  async refusalOfNew(teamId: string, limits: TableLimits): Promise<Refusal | null> {
    const {
      rows: [team],
    } = await this.#database.reader.query(selectUse, [teamId]);
    return team === undefined ? null : refusalOfNew(team, limits);
  }

  /** The version of a table's data; null if the team has no such table. */
  async version(teamId: string, tableId: string): Promise<bigint | null> {
    const { rows } = await this.#database.reader.query(selectVersion, [tableId, teamId]);
    return rows[0]?.version ?? null;
  }
}
