/** Answers SQL: one SELECT over tables of a team, at one version each. */
import {
  DuckDBDateValue, DuckDBDecimalValue, DuckDBIntervalValue, DuckDBListValue, DuckDBMapValue, DuckDBStructValue, DuckDBTimestampTZValue, DuckDBTimestampValue, DuckDBTimeValue,
  DuckDBBlobValue, type DuckDBValue,
} from '@duckdb/node-api';
import type { CopyQueries } from '../../../projections/tables/copies.queries.ts';
import { rewrite, tablesOf, type SqlNode } from '../language/check-sql.ts';
import { QueryError } from '../language/query-error.ts';
import type { SqlRequest } from '../protocol.ts';
import { tooLarge, type Columnar } from './columnar.ts';
import { inTime } from './in-time.ts';
import type { Copies, HeldTable } from './copies.ts';
import { showDate, showDateTime, showTime } from './stored-type.ts';

export interface SqlAnswer {
  readonly body: Buffer;
  readonly isCold: boolean;
}

/** The most rows and bytes of an answer. */
const rowsMax = 100_000;
const bytesMax = 16 * 1024 * 1024;

/** The longest text of a query, in characters. */
const textMax = 100_000;

export interface SqlAnswererOptions {
  readonly copies: Copies;
  readonly columnar: Columnar;
  readonly queries: CopyQueries;
  readonly timeoutMs: number;
}

export class SqlAnswerer {
  readonly #options: SqlAnswererOptions;

  constructor(options: SqlAnswererOptions) {
    this.#options = options;
  }

  /** Rejects with QueryError, and as `gone` says when nobody waits for the answer any more. */
  async answer(request: SqlRequest, gone: AbortSignal): Promise<SqlAnswer> {
    const { columnar, copies, timeoutMs } = this.#options;
    const statement = await this.#parse(request.sql, gone);
    const ids = await this.#resolve(request, tablesOf(statement));
    const tableIds = [...new Set(ids.values())];
    const held = tableIds.length === 0 ? [] : await copies.take(request, tableIds);
    try {
      const tables = new Map(tableIds.map((tableId, at) => [tableId, held[at]!]));
      const columnNames = new ColumnNames(held);
      const views = new Map([...tables].map(([tableId, table]) => [tableId, viewOf(table, columnNames)]));
      const text = await columnar.deparse(rewrite(statement, {
        viewOf: (name) => `table ${ids.get(name)!}`,
        columnOf: (id) => columnNames.internal(id),
      }));
      const result = await inTime(timeoutMs, gone, (signal) => columnar.select(text, [...views.values()], request.parameters, { signal, rowsMax, bytesMax }));
      const names = uniqueNames(result.names.map((name) => columnNames.external(name)));
      const body = {
        data: result.rows.map((row) => Object.fromEntries(row.map((value, at) => [names[at]!, jsonOf(value)]))),
        columns: names.map((name, at) => ({ name, type: result.types[at]! })),
        versions: Object.fromEntries([...tables].map(([tableId, { version }]) => [tableId, String(version)])),
      };
      const bytes = Buffer.from(JSON.stringify(body));
      if (bytes.length > bytesMax) throw tooLarge(rowsMax, bytesMax);
      return { body: bytes, isCold: held.some(({ isCold }) => isCold) };
    } finally {
      for (const { release } of held) release();
    }
  }

  async #parse(sql: string, signal: AbortSignal): Promise<SqlNode> {
    if (sql.length > textMax) throw new QueryError('query_invalid', `sql: must have at most ${textMax} characters`);
    const parsed = await this.#options.columnar.parse(sql, signal);
    if (parsed['error'] === true) {
      const message = String(parsed['error_message']);
      throw new QueryError('query_invalid', message.startsWith('Only SELECT') ? 'Only a SELECT can be asked.' : message);
    }
    if ((parsed['statements'] as readonly unknown[]).length !== 1) throw new QueryError('query_invalid', 'There must be one statement.');
    return parsed;
  }

  /** The IDs of the tables that names mean. */
  async #resolve(request: SqlRequest, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const found = names.length === 0 ? [] : await this.#options.queries.tablesNamed(request.teamId, request.appId, names);
    return new Map(names.map((name) => {
      const matching = found.filter((table) => table.id === name.toLowerCase());
      const named = matching.length > 0 ? matching : found.filter((table) => table.name === name);
      if (named.length === 0) throw new QueryError('query_invalid', `There is no table ${JSON.stringify(name)}.`);
      if (named.length > 1) throw new QueryError('query_invalid', `${named.length} tables have the name ${JSON.stringify(name)}: name the table by its ID.`);
      return [name, named[0]!.id];
    }));
  }
}

/**
 * DuckDB does not tell `a` from `A`. Where the tables of a query have both, one keeps its ID as its name, and each other has one that nothing else has.
 */
class ColumnNames {
  readonly #internal = new Map<string, string>();
  readonly #external = new Map<string, string>();

  constructor(held: readonly HeldTable[]) {
    const first = new Map<string, string>();
    const ids = new Set(held.flatMap(({ copy, version }) => [...copy.at(version).columns.keys()]));
    for (const id of ids) {
      const folded = id.toLowerCase();
      const other = first.get(folded);
      if (other === undefined) first.set(folded, id);
      else {
        const name = `${id}\u{f0000}${this.#internal.size}`;
        this.#internal.set(id, name);
        this.#external.set(name, id);
      }
    }
  }

  internal(id: string): string {
    return this.#internal.get(id) ?? id;
  }

  /** Names of results are those of columns, or texts that contain them. */
  external(name: string): string {
    return [...this.#external].reduce((text, [internal, id]) => text.replaceAll(quoted(internal), id).replaceAll(internal, id), name);
  }
}

/** A statement that makes the view of a table at a version. */
function viewOf({ copy, version }: HeldTable, names: ColumnNames): string {
  const { from, columns } = copy.at(version);
  const outputs = [...columns].map(([id, { sql, type }]) => `${type === 'time' ? `CAST(make_timestamp(${sql}) AS TIME)` : sql} AS ${quoted(names.internal(id))}`);
  const all = [...outputs, 'row_id AS "$rowID"', 'row_version AS "$version"'].join(', ');
  return `CREATE OR REPLACE TEMP VIEW ${quoted(`table ${copy.tableId}`)} AS SELECT ${all} FROM ${from} WHERE since <= ${version} AND until > ${version}`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let unique = name;
    for (let n = 1; taken.has(unique); n += 1) unique = `${name}_${n}`;
    taken.add(unique);
    return unique;
  });
}

/** A value of DuckDB in JSON: moments as ISO 8601, integers beyond 2^53 as texts. */
function jsonOf(value: DuckDBValue): unknown {
  if (typeof value === 'bigint') return value >= -(2n ** 53n) && value <= 2n ** 53n ? Number(value) : String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof DuckDBTimestampValue) return showDateTime(value.micros);
  if (value instanceof DuckDBTimestampTZValue) return showDateTime(value.micros);
  if (value instanceof DuckDBDateValue) return showDate(value.days);
  if (value instanceof DuckDBTimeValue) return showTime(value.micros);
  if (value instanceof DuckDBDecimalValue) return value.toDouble();
  if (value instanceof DuckDBListValue) return value.items.map(jsonOf);
  if (value instanceof DuckDBStructValue) return Object.fromEntries(Object.entries(value.entries).map(([key, entry]) => [key, jsonOf(entry)]));
  if (value instanceof DuckDBMapValue) return value.entries.map(({ key, value: entry }) => ({ key: jsonOf(key), value: jsonOf(entry) }));
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString('base64');
  if (value instanceof DuckDBIntervalValue) return showInterval(value);
  return String(value);
}

/** An ISO 8601 duration. */
function showInterval({ months, days, micros }: DuckDBIntervalValue): string {
  const parts = [months === 0 ? '' : `${months}M`, days === 0 ? '' : `${days}D`].join('');
  const seconds = micros === 0n ? '' : `T${Number(micros) / 1e6}S`;
  return parts === '' && seconds === '' ? 'PT0S' : `P${parts}${seconds}`;
}
