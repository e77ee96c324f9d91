/** Answers queries on the rows of a table. */
import type { DuckDBValue } from '@duckdb/node-api';
import { RowsCsv } from '../../../../projections/tables/rows-csv.ts';
import { RowsJson, type RowsText } from '../../../../projections/tables/rows-json.ts';
import { DelimitedRowWriter } from '../../../language/formats/delimited-row-writer.ts';
import { parseExactly } from '../../../language/formats/exact-json.ts';
import { QueryError } from '../language/query-error.ts';
import { hasGroups, readRowsQuery, type GivenQuery, type RowsQuery } from '../language/rows-query.ts';
import {
  expiredContinuation,
  formatEngineContinuation,
  parseEngineContinuation,
  type QueryRequest,
} from '../protocol.ts';
import type { Columnar } from './columnar.ts';
import { compileCount, compileGroups, compileRows, type GroupColumn, type QuerySource } from './compile.ts';
import { Continuations } from './continuations.ts';
import type { Copies, HeldTable } from './copies.ts';
import { columnsOf, selectFields } from './export/text-writers.ts';
import { withQueryTimeout } from './query-timeout.ts';

interface QueryAnswer {
  readonly body: Buffer;
  /** The continuation for the next page; null on the last page. */
  readonly continuation: string | null;
  readonly version: bigint;
  /** How many rows match the filter; null if the query did not ask for the count. */
  readonly count: bigint | null;
  readonly isCold: boolean;
}

interface AnswererOptions {
  /** The ID of this engine, which its continuations contain. */
  readonly id: string;
  readonly copies: Copies;
  readonly columnar: Columnar;
  readonly timeoutMs: number;
}

/** The query, the copy and the offset of a page. */
interface PageStart {
  readonly held: Pick<HeldTable, 'copy' | 'version'>;
  readonly source: QuerySource;
  readonly query: RowsQuery;
  readonly offset: number;
}

interface Page {
  readonly rows: Pick<RowsText, 'page'>;
  /** The offset of the next page; null if this is the last one. */
  readonly next: number | null;
}

/** A page ends at about this many bytes, but has at least this many rows (docs/spec/decisions.md 3). */
const pageBytesMax = 16 * 1024 * 1024;
const pageRowsMin = 32;

export class Answerer {
  readonly #options: AnswererOptions;
  readonly #continuations = new Continuations();

  constructor(options: AnswererOptions) {
    this.#options = options;
  }

  /**
   * Answers a query. Rejects with QueryError, and with the reason of `gone`, which aborts when nobody waits any more.
   */
  async answer(request: QueryRequest, gone: AbortSignal): Promise<QueryAnswer> {
    this.#continuations.removeStale();
    const { copies, timeoutMs } = this.#options;
    if (request.continuation !== null)
      return withQueryTimeout(timeoutMs, gone, (signal) => this.#continue(request, request.continuation!, signal));
    const query = readRowsQuery(request.query, request.prefix);
    const rowIds = rowIdsOf(query);
    // Copying the table does not count against the time limit of the query.
    const held =
      rowIds === null
        ? (await copies.take(request, [request.tableId], gone))[0]!
        : await copies.takeRows(request, request.tableId, rowIds, new Set(query.sort.map(({ column }) => column)));
    try {
      const source = held.copy.at(held.version);
      return await withQueryTimeout(timeoutMs, gone, (signal) =>
        this.#page(request, { held, source, query, offset: 0 }, held.isCold, signal),
      );
    } finally {
      held.release();
    }
  }

  async #continue(request: QueryRequest, continuation: string, signal: AbortSignal): Promise<QueryAnswer> {
    await this.#options.copies.check(request, request.tableId);
    const found = this.#continuations.get(request.teamId, parseEngineContinuation(continuation)!.id);
    const isTheirs =
      found !== undefined && found.asker.appId === request.appId && found.held.copy.tableId === request.tableId;
    if (!isTheirs || found.held.copy.isDropped) {
      const { type, message } = expiredContinuation(request.prefix);
      throw new QueryError(type, message);
    }
    const { held, columns, offset } = found;
    const release = held.copy.hold(held.version, 'query');
    try {
      const given = parseExactly(found.query) as GivenQuery;
      const start = {
        held,
        source: held.copy.atEarlier(held.version, columns),
        query: readRowsQuery(given, found.prefix),
        offset,
      };
      return await this.#page({ ...request, query: given, prefix: found.prefix }, start, false, signal);
    } finally {
      release();
    }
  }

  async #page(request: QueryRequest, at: PageStart, isCold: boolean, signal: AbortSignal): Promise<QueryAnswer> {
    const { query, source, held } = at;
    // Run count and page one after the other, so that a query does not share the memory with itself.
    const count = query.count ? await this.#count(query, source, signal) : null;
    const { rows, next } = hasGroups(query)
      ? await this.#groups(at, request, signal)
      : await this.#rows(at, request, signal);
    const continuation = next === null ? null : this.#keep(request, at, next);
    return { body: rows.page(continuation), continuation, version: held.version, count, isCold };
  }

  #keep(
    { teamId, appId, query, prefix }: QueryRequest,
    { held: { copy, version }, source }: PageStart,
    offset: number,
  ): string {
    const held = { copy, version, release: copy.hold(version, 'continuation') };
    const id = this.#continuations.keep({
      asker: { teamId, appId },
      held,
      columns: source.columns.size,
      query: JSON.stringify(query),
      prefix,
      offset,
    });
    return formatEngineContinuation(this.#options.id, id);
  }

  async #count(query: RowsQuery, source: QuerySource, signal: AbortSignal): Promise<bigint> {
    const [[count]] = (await this.#options.columnar.rows(compileCount(query, source), signal)) as [[bigint]];
    return count;
  }

  async #rows(
    { query, source, offset, held }: PageStart,
    { limit: asked, format }: QueryRequest,
    signal: AbortSignal,
  ): Promise<Page> {
    const limit = Math.min(asked, Math.max(pageRowsMin, Math.floor(pageBytesMax / Math.max(held.copy.rowBytesMax, 1))));
    const found = (await this.#options.columnar.rows(
      compileRows(query, source, { offset, limit: limit + 1 }),
      signal,
    )) as [string, bigint, string][];
    const rows =
      format === 'csv' ? new RowsCsv(columnsOf(query, source)) : new RowsJson(Math.min(found.length, limit), 0);
    const fields = query.fields === null ? null : new Set(query.fields);
    for (const [rowId, rowVersion, body] of found.slice(0, limit)) {
      rows.addRetained(
        rowId,
        fields === null
          ? body
          : selectFields(`{"$version":"${rowVersion}"${body === '{}' ? '}' : `,${body.slice(1)}`}`, fields),
      );
    }
    return { rows, next: found.length > limit ? offset + limit : null };
  }

  async #groups(
    { query, source, offset, held }: PageStart,
    { limit: asked, format }: QueryRequest,
    signal: AbortSignal,
  ): Promise<Page> {
    const groupBytesMax = Math.max(held.copy.rowBytesMax, 1) * (query.groupBy.length + query.aggregate.length);
    const limit = Math.max(1, Math.min(asked, Math.floor(pageBytesMax / groupBytesMax)));
    const { sql, columns } = compileGroups(query, source, { offset, limit: limit + 1 });
    const found = await this.#options.columnar.rows(sql, signal);
    const names = columns.map(({ name }) => name);
    const memberOf = ({ name, show }: GroupColumn, value: DuckDBValue): string =>
      `${JSON.stringify(name)}:${value === null ? 'null' : JSON.stringify(show(value))}`;
    const groups = found
      .slice(0, limit)
      .map((row) => `{${columns.map((column, at) => memberOf(column, row[at]!)).join(',')}}`);
    return {
      rows: {
        page: (continuation) => (format === 'csv' ? groupsCsv(names, groups) : groupsJson(groups, continuation)),
      },
      next: found.length > limit ? offset + limit : null,
    };
  }
}

/** `groups` has the JSON of each group. */
function groupsJson(groups: readonly string[], continuation: string | null): Buffer {
  return Buffer.from(
    `{"data":[${groups.join(',')}]${continuation === null ? '' : `,"continuation":"${continuation}"`}}`,
  );
}

function groupsCsv(names: readonly string[], groups: readonly string[]): Buffer {
  const writer = new DelimitedRowWriter(
    ',',
    names.map((id) => ({ id, isJson: false })),
  );
  writer.add(Buffer.from(groups.join('\n')));
  return writer.take();
}

/** The row IDs of a look-up: a query whose filter names rows by ID. Null for other queries. */
function rowIdsOf(query: RowsQuery): readonly string[] | null {
  const { filter } = query;
  if (hasGroups(query) || filter === null || !('column' in filter) || filter.column !== '$rowID') return null;
  const ids = filter.op === 'eq' ? [filter.value] : filter.op === 'in' ? (filter.value as readonly unknown[]) : null;
  return ids?.every((id) => typeof id === 'string') === true ? ids : null;
}
