/** A table: its rows one by one, in pages, in queries and in bulk. */
import { batchBody, changedBy, type Changed, type RowOperation, type WhereOptions } from './batch.ts';
import { Columns } from './columns.ts';
import { droppedCellsOf, newKey } from './headers.ts';
import type { components, operations } from './interface.ts';
import { loadRows, type Loaded, type LoadOptions, type RowSource } from './load.ts';
import { Pages, type Page } from './pages.ts';
import type { AnyRow, Condition, GroupsQuery, OnSchemaError, RowChanges, RowsQuery, StoredRow } from './rows.ts';
import { remarksOf, Stash, type ChunkOptions, type ChunkRemarks, type StashOptions } from './stash.ts';
import type { Transport } from './transport.ts';
import { ifMatch, versionOf, type Version, type Versioned } from './versions.ts';

type Schemas = components['schemas'];

/** The description of a table. */
export type TableDescription = Schemas['Table'];

export type ColumnType = Schemas['ColumnType'];

/** A page of rows. It shows one version of the table. */
export interface RowsPage<T> extends Page<T> {
  readonly version: Version;
  /** How many rows meet the filter, if the query asks for it. */
  readonly count?: number;
}

/** IDs of added rows, in the order of the input, with the version of the table that has them. */
export interface Added extends Versioned<{ readonly rowIDs: readonly string[] }> {
  /** How many cells were dropped, if `dropColumns` allowed that. */
  readonly droppedCells: number;
}

/** How a body of rows is written, and what happens to cells that do not fit. */
export interface UpsertBodyOptions extends ChunkOptions {
  readonly mediaType: NonNullable<StashOptions['mediaType']>;
  readonly onSchemaError?: OnSchemaError | undefined;
}

export interface WriteOptions {
  /**
   * The request takes effect only if nothing has changed since this version. Otherwise it throws TablogError
   * `precondition_failed`.
   */
  readonly ifMatch?: Version;
  /** Default: `abort`. */
  readonly onSchemaError?: OnSchemaError;
  readonly signal?: AbortSignal;
}

export type ExportFormat = NonNullable<NonNullable<operations['exportTable']['parameters']['query']>['format']>;

export class Table<Row extends object = AnyRow> {
  readonly id: string;
  /** Its columns: lists, adds, renames, reorders and removes them, and changes their types. */
  readonly columns: Columns;
  readonly #transport: Transport;

  constructor(transport: Transport, id: string) {
    this.#transport = transport;
    this.id = id;
    this.columns = new Columns(transport, id);
  }

  /** The name, schema, number of rows and version of the table. */
  async describe(): Promise<TableDescription> {
    const { data } = await this.#transport.operations.GET('/tables/{tableID}', { params: this.#params });
    return data!.data;
  }

  /** The version of the table. It rises with each change of its rows. */
  async version(): Promise<Version> {
    const { response } = await this.#transport.operations.HEAD('/tables/{tableID}/rows', { params: this.#params });
    return versionOf(response);
  }

  /** All rows of the table, or those of a query. All pages of a query show one version. */
  rows(query: RowsQuery<Row> = {}): Pages<StoredRow<Row>, RowsPage<StoredRow<Row>>> {
    const { limit, ...asked } = query;
    return new Pages(async (continuation) => {
      const isQuery = Object.keys(asked).length > 0;
      const size = limit === undefined ? {} : { limit };
      const next = continuation === undefined ? {} : { continuation };
      const { data, response } = isQuery
        ? await this.#transport.operations.POST('/tables/{tableID}/query', {
            params: this.#params,
            body: { ...(continuation === undefined && (asked as object)), ...size, ...next },
          })
        : await this.#transport.operations.GET('/tables/{tableID}/rows', {
            params: { ...this.#params, query: { ...size, ...next } },
          });
      const count = response.headers.get('tablog-count');
      return {
        ...(data as unknown as Page<StoredRow<Row>>),
        version: versionOf(response),
        ...(count !== null && { count: Number(count) }),
      };
    });
  }

  /** Groups of rows with aggregates, such as sums. */
  groups(query: GroupsQuery<Row>): Pages<AnyRow, RowsPage<AnyRow>> {
    const { limit, ...asked } = query;
    return new Pages(async (continuation) => {
      const size = limit === undefined ? {} : { limit };
      const body = continuation === undefined ? { ...(asked as object), ...size } : { ...size, continuation };
      const { data, response } = await this.#transport.operations.POST('/tables/{tableID}/query', {
        params: this.#params,
        body,
      });
      return { ...(data as Page<AnyRow>), version: versionOf(response) };
    });
  }

  /** How many rows meet a filter. */
  async count(filter: Condition<Row> = { and: [] }): Promise<number> {
    const { response } = await this.#transport.operations.POST('/tables/{tableID}/query', {
      params: this.#params,
      body: { filter: filter as Schemas['Condition'], count: 'exact', limit: 1 },
    });
    return Number(response.headers.get('tablog-count'));
  }

  /** One row. Throws TablogError `row_not_found`. */
  async row(rowID: string): Promise<Versioned<StoredRow<Row>>> {
    const { data, response } = await this.#transport.operations.GET('/tables/{tableID}/rows/{rowID}', {
      params: this.#paramsOf(rowID),
    });
    return { data: (data as { readonly data: StoredRow<Row> }).data, version: versionOf(response) };
  }

  /** Adds rows, all or none. For more than some thousand rows use `load`, which sends them in parts. */
  async add(rows: readonly Row[], { signal, onSchemaError, ...options }: WriteOptions = {}): Promise<Added> {
    const { data, response } = await this.#transport.operations.POST('/tables/{tableID}/rows', {
      params: {
        ...this.#params,
        query: onSchemaError === undefined ? {} : { onSchemaError },
        header: { ...newKey(), ...ifMatch(options.ifMatch) },
      },
      body: rows as AnyRow[],
      ...(signal && { signal }),
    });
    const { rowIDs } = (data as { readonly data: Added['data'] }).data;
    return { data: { rowIDs }, version: versionOf(response), droppedCells: droppedCellsOf(response) };
  }

  /**
   * Upserts rows by the key of the table, all or none: a row whose key exists patches that row, and null empties a
   * cell; any other row is added. Throws TablogError `request_validation_error` if the table has no key.
   */
  async upsert(
    rows: readonly RowChanges<Row>[],
    { signal, onSchemaError, ...options }: WriteOptions = {},
  ): Promise<Changed> {
    const { data, response } = await this.#transport.operations.POST('/tables/{tableID}/rows', {
      params: {
        ...this.#params,
        query: { mode: 'upsert', ...(onSchemaError !== undefined && { onSchemaError }) },
        header: { ...newKey(), ...ifMatch(options.ifMatch) },
      },
      body: [...rows] as AnyRow[],
      ...(signal && { signal }),
    });
    return changedBy((data as { readonly data: Changed['data'] }).data.rowIDs, response);
  }

  /** Upserts the rows of a body of JSON, NDJSON, CSV or TSV, as `upsert`. An empty cell of CSV empties a cell. */
  async upsertBody(
    body: string | Uint8Array<ArrayBuffer>,
    { mediaType, encoding, form, signal, onSchemaError }: UpsertBodyOptions,
  ): Promise<Changed & ChunkRemarks> {
    const { data, response } = await this.#transport.operations.POST('/tables/{tableID}/rows', {
      params: {
        ...this.#params,
        query: { ...form, mode: 'upsert', ...(onSchemaError !== undefined && { onSchemaError }) },
        header: newKey(),
      },
      headers: { 'content-type': mediaType, ...(encoding && { 'content-encoding': encoding }) },
      // As bytes or text, because the document describes the contents.
      body: body as never,
      bodySerializer: (given) => given,
      ...(signal && { signal }),
    });
    const { rowIDs } = (data as { readonly data: Changed['data'] }).data;
    return { ...changedBy(rowIDs, response), ...remarksOf(response) };
  }

  /** Changes the named columns of a row. Returns its new version. */
  async patch(
    rowID: string,
    changes: RowChanges<Row>,
    { signal, onSchemaError, ...options }: WriteOptions = {},
  ): Promise<Version> {
    const { response } = await this.#transport.operations.PATCH('/tables/{tableID}/rows/{rowID}', {
      params: {
        ...this.#paramsOf(rowID),
        query: onSchemaError === undefined ? {} : { onSchemaError },
        header: { ...newKey(), ...ifMatch(options.ifMatch) },
      },
      body: changes as AnyRow,
      ...(signal && { signal }),
    });
    return versionOf(response);
  }

  /** Deletes a row. It is no error if the row does not exist. Returns the version of the table. */
  async delete(rowID: string, options: Pick<WriteOptions, 'ifMatch'> = {}): Promise<Version> {
    const { response } = await this.#transport.operations.DELETE('/tables/{tableID}/rows/{rowID}', {
      params: { ...this.#paramsOf(rowID), header: { ...newKey(), ...ifMatch(options.ifMatch) } },
    });
    return versionOf(response);
  }

  /**
   * Adds, upserts, patches and deletes rows in one step: all of these operations take effect, in order, or none does.
   * At most 10,000. `ifMatch` guards the whole table; each operation may guard its row. The message of a TablogError
   * begins with the place: `operations[3].row.age`.
   */
  async batch(
    operations: readonly RowOperation<Row>[],
    { signal, onSchemaError, ...options }: WriteOptions = {},
  ): Promise<Changed> {
    const { data, response } = await this.#transport.operations.POST('/tables/{tableID}/batch', {
      params: { ...this.#params, header: { ...newKey(), ...ifMatch(options.ifMatch) } },
      body: batchBody(operations, onSchemaError),
      ...(signal && { signal }),
    });
    return changedBy((data as { readonly data: Changed['data'] }).data.rowIDs, response);
  }

  /**
   * Patches all rows that meet a filter: at most 10,000, in one step. If others change one of these rows meanwhile, the
   * service tries again. Throws TablogError `precondition_failed` if that happens in each of its tries.
   */
  async patchWhere(
    filter: Condition<Row>,
    changes: RowChanges<Row>,
    { onSchemaError, ...options }: WhereOptions & Pick<WriteOptions, 'onSchemaError'> = {},
  ): Promise<Changed> {
    const { data, response } = await this.#transport.operations.PATCH('/tables/{tableID}/rows', {
      ...this.#where(filter, options, onSchemaError === undefined ? {} : { onSchemaError }),
      body: changes as AnyRow,
    });
    return changedBy(data!.data.rowIDs, response);
  }

  /** Deletes all rows that meet a filter, under the same conditions as `patchWhere`. */
  async deleteWhere(filter: Condition<Row>, options: WhereOptions = {}): Promise<Changed> {
    const { data, response } = await this.#transport.operations.DELETE(
      '/tables/{tableID}/rows',
      this.#where(filter, options, {}),
    );
    return changedBy(data!.data.rowIDs, response);
  }

  /**
   * Adds any number of rows in one step, or replaces all rows by them (`overwrite`). Sends them in parts, while the
   * program produces them.
   */
  async load(rows: RowSource<Row>, options: LoadOptions = {}): Promise<Loaded> {
    const stash = new Stash(this.#transport, `load-${crypto.randomUUID()}`, { onSchemaError: options.onSchemaError });
    return loadRows(
      stash,
      { kind: options.mode ?? 'add', tableID: this.id, ifMatch: options.ifMatch },
      rows as RowSource<AnyRow>,
      options,
    );
  }

  /** Changes the name of the table, and the display names of columns. */
  async update(
    changes: operations['updateTable']['requestBody']['content']['application/json'],
    options: Pick<WriteOptions, 'ifMatch'> = {},
  ): Promise<Version> {
    const { response } = await this.#transport.operations.PATCH('/tables/{tableID}', {
      params: { ...this.#params, header: { ...newKey(), ...ifMatch(options.ifMatch) } },
      body: changes,
    });
    return versionOf(response);
  }

  /** The rows of the table as a file. The service writes the file while it is read. Cancel the stream to stop. */
  async export(
    format: ExportFormat,
    query: Omit<RowsQuery<Row>, 'limit' | 'count'> = {},
  ): Promise<Versioned<ReadableStream<Uint8Array>>> {
    const { filter, sort, fields } = query;
    const { data, response } = await this.#transport.streaming.GET('/tables/{tableID}/export', {
      params: {
        ...this.#params,
        query: {
          format,
          ...(filter && { filter: JSON.stringify(filter) }),
          ...(sort && { sort: JSON.stringify(sort) }),
          ...(fields && { fields: JSON.stringify(fields) }),
        },
      },
      parseAs: 'stream',
    });
    return { data: data as ReadableStream<Uint8Array>, version: versionOf(response) };
  }

  /** Deletes the table with all its rows. It is no error if the table does not exist. */
  async drop(options: Pick<WriteOptions, 'ifMatch'> = {}): Promise<void> {
    await this.#transport.operations.DELETE('/tables/{tableID}', {
      params: { ...this.#params, header: { ...newKey(), ...ifMatch(options.ifMatch) } },
    });
  }

  #where<Query extends object>(filter: Condition<Row>, { dryRun = false, signal }: WhereOptions, more: Query) {
    const query = { filter: JSON.stringify(filter), dryRun: dryRun ? ('true' as const) : ('false' as const), ...more };
    return { params: { ...this.#params, query, header: newKey() }, ...(signal && { signal }) };
  }

  get #params(): { readonly path: { readonly tableID: string } } {
    return { path: { tableID: this.id } };
  }

  #paramsOf(rowID: string): { readonly path: { readonly tableID: string; readonly rowID: string } } {
    return { path: { tableID: this.id, rowID } };
  }
}
