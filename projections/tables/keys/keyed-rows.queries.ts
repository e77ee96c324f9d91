/** Finds rows by their keys, for HTTP. Each requested row is one look-up, however large the table is. */
import { LRUCache } from 'lru-cache';
import type { Database } from '../../../src/storage/database/database.ts';
import type { Statement } from '../../../src/storage/database/pipelined-client.ts';
import { rowIdPrefix } from '../../../src/language/events/row-id.ts';
import { fitToken } from '../../../src/language/values/fit-value.ts';
import { keyReaderOf } from '../../../src/language/values/row-key.ts';
import { decodeSchema } from '../../../src/language/values/table-schema.ts';
import { pageBytesMax, type RowsFormat } from '../pages.queries.ts';
import type { Presenters } from '../read/presenters.ts';
import { rowAtIndex } from '../read/shown-rows.ts';
import { latest, retainedIdAt } from '../read/table-at.ts';
import { RowsCsv, writtenColumns } from '../rows-csv.ts';
import { RowsJson } from '../rows-json.ts';
import { hashOfKey } from './row-keys.store.ts';
import { keyOf, type TableKey } from './table-key.ts';

/** By column, the requested values. Only a single column may have several values: a row must have one of them. */
export type AskedValues = ReadonlyMap<string, readonly unknown[]>;

export interface KeyedRows {
  readonly body: Buffer;
  readonly version: bigint;
  readonly count: number;
}

const selectKey: Statement<{ keyColumns: string | null; keySince: bigint | null; columns: string }> = {
  name: 'read_key',
  text: `select tables.key_columns as "keyColumns", tables.key_since as "keySince", schemas.columns from tables
    join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
    where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
};

interface FoundRow {
  readonly suspended: boolean;
  readonly etag: bigint;
  readonly schemaVersion: bigint;
  /** Whether the table still has the key of the request, and the rows fit into a page. */
  readonly canAnswer: boolean;
  /** This field and all that follow are null if no row has the key. */
  readonly rowIndex: number | null;
  readonly version: bigint;
  readonly ordinal: number;
  readonly retainedId: string | null;
  readonly body: string;
  readonly form: string | null;
}

const keyedRow = rowAtIndex('extents', 'keyed.index', latest);
const canAnswer = `tables.key_since = $3 and tables.row_bytes_max::int8 * cardinality($4::uuid[]) <= ${pageBytesMax}`;

const selectRows: Statement<FoundRow> = {
  name: 'read_rows_by_key',
  text: `select teams.suspended, tables.version as etag, tables.schema_version as "schemaVersion",
      coalesce(${canAnswer}, false) as "canAnswer", found.*
    from tables join teams on teams.id = tables.team_id
    left join lateral (
      select keyed.index as "rowIndex", extents.version, extents.ordinal,
        ${retainedIdAt('extents', 'extents.first + keyed.index')} as "retainedId",
        ${keyedRow.body} as body, ${keyedRow.form} as form
      from unnest($4::uuid[]) as wanted(hash)
      join lateral (
        select extent, index from row_keys where row_keys.table_id = $1 and row_keys.since = $3
          and row_keys.hash = wanted.hash limit 1
      ) keyed on true
      join lateral (select * from extents where extents.key = keyed.extent limit 1) extents on true
      ${keyedRow.join}
      order by extents.version, extents.ordinal, keyed.index
    ) found on ${canAnswer}
    where tables.id = $1 and tables.team_id = $2 and not tables.deleted`,
};

/** The number of tables whose keys are cached. */
const keysMax = 1000;

export class KeyedRowQueries {
  readonly #database: Database;
  readonly #presenters: Presenters;
  /**
   * By table. The types of key columns stay while the table has a key, so an entry is valid until the table's key
   * changes.
   */
  readonly #keys = new LRUCache<string, TableKey>({ max: keysMax });

  constructor(database: Database, presenters: Presenters) {
    this.#database = database;
    this.#presenters = presenters;
  }

  /**
   * The rows of a table that have these values, in the order of the table, as a page. Null if the request is no look-up
   * by the key of the table: then the caller must answer it in another way, or refuse it.
   */
  async find(teamId: string, tableId: string, asked: AskedValues, format: RowsFormat): Promise<KeyedRows | null> {
    const remembered = this.#keys.get(tableId);
    const found = remembered && (await this.#find(teamId, remembered, asked, format));
    if (found) return found;
    const key = await this.#readKey(teamId, tableId);
    if (key === null || key.since === remembered?.since) return null;
    this.#keys.set(tableId, key);
    return this.#find(teamId, key, asked, format);
  }

  async #readKey(teamId: string, tableId: string): Promise<TableKey | null> {
    const { rows } = await this.#database.reader.query(selectKey, [tableId, teamId]);
    return rows[0] === undefined ? null : keyOf({ id: tableId, ...rows[0] }, decodeSchema(JSON.parse(rows[0].columns)));
  }

  async #find(teamId: string, key: TableKey, asked: AskedValues, format: RowsFormat): Promise<KeyedRows | null> {
    const hashes = hashesOf(key, asked);
    if (hashes === null) return null;
    const { rows } = await this.#database.reader.query(selectRows, [key.tableId, teamId, key.since, hashes]);
    const [first] = rows;
    if (first === undefined || first.suspended || !first.canAnswer) return null;
    const { etag, schemaVersion } = first;
    const page =
      format === 'json'
        ? new RowsJson(rows.length, 0)
        : new RowsCsv(writtenColumns(await this.#presenters.schema(key.tableId, schemaVersion)));
    for (const { rowIndex, version, ordinal, retainedId, body, form } of rows) {
      if (rowIndex === null) continue;
      const present = await this.#presenters.of(key.tableId, schemaVersion, form);
      if (retainedId === null) page.add(rowIdPrefix(version, ordinal), rowIndex, present(body));
      else page.addRetained(retainedId, present(body));
    }
    return { body: page.page(null), version: etag, count: page.count };
  }
}

/** The hashes of the requested keys; null unless the columns are the key columns and all values fit their types. */
function hashesOf({ columns }: TableKey, asked: AskedValues): readonly string[] | null {
  if (asked.size !== columns.length) return null;
  const read = keyReaderOf(columns);
  const [first] = columns;
  const bodies: string[] = [];
  for (const value of columns.length === 1 ? (asked.get(first!.id) ?? []) : [null]) {
    const cells: string[] = [];
    for (const { id, type } of columns) {
      const given = columns.length === 1 ? value : asked.get(id)?.[0];
      // A string column compares a number by its digits as the client wrote them, which are lost here.
      const isPlain = typeof given === (type === 'number' || type === 'boolean' ? type : 'string');
      const token = isPlain ? fitToken(JSON.stringify(given), type, false) : undefined;
      if (token === undefined) return null;
      cells.push(`${JSON.stringify(id)}:${token}`);
    }
    bodies.push(`{${cells.join(',')}}`);
  }
  if (columns.length === 1 && !asked.has(first!.id)) return null;
  return [...new Set(bodies.map((body) => hashOfKey(read(body)!.text)))];
}
