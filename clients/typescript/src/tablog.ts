/** The client of a Tablog service. */
import { TablogError } from './errors.ts';
import type { components, operations } from './interface.ts';
import { droppedCellsOf, newKey } from './headers.ts';
import { Job, type ListedJob } from './jobs.ts';
import { Operator } from './operator.ts';
import { Pages } from './pages.ts';
import type { AnyRow, OnSchemaError } from './rows.ts';
import { Stash, type StashOptions } from './stash.ts';
import type { NewColumn } from './columns.ts';
import { Table } from './table.ts';
import { uploadFile, type FileSource, type UploadedFile, type UploadOptions } from './uploads.ts';
import { openTransport, type Operations, type Transport, type TransportOptions } from './transport.ts';
import { versionOf, type Version } from './versions.ts';

/** A table in a list. */
export type TableSummary = components['schemas']['TableSummary'];

/** Options of a list. */
export interface PageQuery {
  /** How many items a page has at most. */
  readonly limit?: number;
}

/** An upload in a list. */
export type ListedUpload = components['schemas']['ListedUpload'];

type AnswerOf<Operation extends 'getToken' | 'getUsage' | 'getActivity'> =
  operations[Operation]['responses'][200]['content']['application/json']['data'];

/** The token of the client, as the service describes it. */
export type TokenDescription = AnswerOf<'getToken'>;

/** A team's use of its quotas and rate limits. */
export type Usage = AnswerOf<'getUsage'>;

/** A team's activity in the last hour, as one process of the service has counted it. */
export type Activity = AnswerOf<'getActivity'>;

export interface NewTable<Row extends object> {
  readonly name: string;
  /** The columns; by default they are inferred from the rows. */
  readonly columns?: readonly NewColumn[];
  /** The first rows, some thousand at most. Load more with `Table.load`. */
  readonly rows?: readonly Row[];
  readonly appsToLink?: readonly string[];
  readonly onSchemaError?: OnSchemaError;
}

export interface CreatedTable<Row extends object> {
  readonly table: Table<Row>;
  readonly rowIDs: readonly string[];
  readonly version: Version;
  readonly droppedCells: number;
}

/** A value of a parameter of SQL. */
export type SqlValue = string | number | boolean | null;

/** The answer to SQL: rows, their columns, and the versions of the tables that it read, by ID. */
export interface SqlResult<Row> {
  readonly data: readonly Row[];
  readonly columns: readonly { readonly name: string; readonly type: components['schemas']['ColumnType'] }[];
  readonly versions: Readonly<Record<string, Version>>;
}

export class Tablog {
  readonly #transport: Transport;
  /** Teams, plans, tokens and the log. Needs the token of an operator. */
  readonly operator: Operator;

  constructor(options: TransportOptions) {
    this.#transport = openTransport(options);
    this.operator = new Operator(this.operations);
  }

  /** All operations of the interface, for those that have no method here. */
  get operations(): Operations {
    return this.#transport.operations;
  }

  /** The team of the token, and what the token may do. */
  async token(): Promise<TokenDescription> {
    const { data } = await this.operations.GET('/token');
    return data!.data;
  }

  /** The team's use of its quotas and rate limits. Not for the token of an app. */
  async usage(): Promise<Usage> {
    const { data } = await this.operations.GET('/usage');
    return data!.data;
  }

  /** The team's activity in the last hour, as the process that answers has counted it. Not for the token of an app. */
  async activity(): Promise<Activity> {
    const { data } = await this.operations.GET('/activity');
    return data!.data;
  }

  /** The tables that the token can see, in the order in which they were created. */
  tables(): Pages<TableSummary> {
    return new Pages(async (continuation) => {
      const { data } = await this.operations.GET('/tables', {
        params: { query: continuation === undefined ? {} : { continuation } },
      });
      return data!;
    });
  }

  /** A table by its ID. Sends no request. `Row`: its columns, as `tablog types` prints them. */
  table<Row extends object = AnyRow>(id: string): Table<Row> {
    return new Table(this.#transport, id);
  }

  /** A table by its name. Undefined if no table has the name. Throws TablogError if several tables have it. */
  async find<Row extends object = AnyRow>(name: string): Promise<Table<Row> | undefined> {
    const named: TableSummary[] = [];
    for await (const table of this.tables()) if (table.name === name) named.push(table);
    if (named.length > 1)
      throw new TablogError(
        null,
        null,
        `${named.length} tables are named ${JSON.stringify(name)}: ${named.map(({ id }) => id).join(', ')}`,
      );
    return named[0] && this.table(named[0].id);
  }

  async createTable<Row extends object = AnyRow>({
    name,
    columns,
    rows = [],
    appsToLink,
    onSchemaError,
  }: NewTable<Row>): Promise<CreatedTable<Row>> {
    const { data, response } = await this.operations.POST('/tables', {
      params: { header: newKey(), query: onSchemaError === undefined ? {} : { onSchemaError } },
      body: {
        name,
        rows: rows as AnyRow[],
        ...(columns && { schema: { columns: [...columns] } }),
        ...(appsToLink && { appsToLink: [...appsToLink] }),
      },
    });
    const { tableID, rowIDs } = (
      data as { readonly data: { readonly tableID: string; readonly rowIDs: readonly string[] } }
    ).data;
    return { table: this.table(tableID), rowIDs, version: versionOf(response), droppedCells: droppedCellsOf(response) };
  }

  /** The rows of a SELECT over the team's tables. `parameters`: the values of `$1`, `$2` and so on, or of `$name`. */
  async sql<Row = AnyRow>(
    sql: string,
    parameters?: readonly SqlValue[] | Readonly<Record<string, SqlValue>>,
  ): Promise<SqlResult<Row>> {
    const { data } = await this.operations.POST('/query', {
      body: { sql, ...(parameters && { parameters: parameters as SqlValue[] }) },
    });
    return data as unknown as SqlResult<Row>;
  }

  /** A stash by any ID. Sends no request. */
  stash(id: string, options: StashOptions = {}): Stash {
    return new Stash(this.#transport, id, options);
  }

  /**
   * Sends a file of an app: creates an upload, sends the bytes, and completes it. A row can hold the URL of the file.
   */
  upload(app: string, file: FileSource, options: UploadOptions): Promise<UploadedFile> {
    return uploadFile(this.#transport, app, file, options);
  }

  /** The team's uploads, or those of the token's app, newest first. */
  uploads(query: PageQuery = {}): Pages<ListedUpload> {
    return new Pages(async (continuation) => {
      const { data } = await this.operations.GET('/uploads', {
        params: { query: continuation === undefined ? query : { ...query, continuation } },
      });
      return data!;
    });
  }

  /** The jobs of the last seven days, newest first. */
  jobs(query: PageQuery = {}): Pages<ListedJob> {
    return new Pages(async (continuation) => {
      const { data } = await this.operations.GET('/jobs', {
        params: { query: continuation === undefined ? query : { ...query, continuation } },
      });
      return data!;
    });
  }

  /** A job by the ID in an answer of 202. */
  job(id: string): Job {
    return new Job(this.operations, id);
  }
}
