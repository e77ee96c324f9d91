/** What services and query engines, which are processes of their own, say to each other over HTTP. */
import type { RowsFormat } from '../../../projections/tables/pages.queries.ts';
import type { CsvForm, ExportFormat } from './language/export-format.ts';
import type { GivenQuery } from './language/rows-query.ts';
import type { SqlParameter } from './sql/literals.ts';

/**
 * There are two query processes. `queries` answers filters, sorts, groups and exports, which the service compiles from
 * its own language; `sql` answers SQL that clients wrote.
 */
export const processKinds = ['queries', 'sql'] as const;
export type ProcessKind = (typeof processKinds)[number];

/**
 * How a query process is to run: the first message over its channel. The process reads nothing of this from its
 * environment.
 */
export interface EngineSettings {
  readonly kind: ProcessKind;
  readonly logLevel: string;
  /** A UUID of its own. */
  readonly id: string;
  /** The address to listen on, and the port; 0: a free one. */
  readonly host: string;
  readonly port: number;
  readonly databaseUrl: string;
  /** The Postgres schema of the read model. */
  readonly schema: string;
  /** A folder of its own, for copies of tables. */
  readonly folder: string;
  readonly memoryBytesMax: number;
  /** The service ends the process when it takes more resident memory than this. */
  readonly residentBytesMax: number;
  /** The most private memory that it may map; Infinity where no limit is in force. */
  readonly mappedBytesMax: number;
  readonly diskBytesMax: number;
  /** How many bytes must stay free on the disk of the folder. */
  readonly diskFreeMin: number;
  /** Threads of DuckDB. */
  readonly threads: number;
  /** The priority of the process: 0 is that of the service, 19 the lowest. */
  readonly niceness: number;
  readonly timeoutMs: number;
  /** What requests must bring in the header `authorization`. */
  readonly secret: string;
}

/** What the engine sends over the channel of its process once it takes requests. */
export interface EngineReady {
  readonly port: number;
}

/**
 * What it sends when SQL could not be interrupted, or took all the memory there is: the process has to end because of
 * this team.
 */
export interface EngineStuck {
  /** The team that asked it. */
  readonly stuck: string;
}

/** What it sends when it can answer nothing any more. The service then ends it. */
export interface EngineEnding {
  readonly ending: string;
}

export type EngineMessage = EngineReady | EngineStuck | EngineEnding;

/**
 * What the service sends when nobody waits for the answer to SQL any more. The process answers nevertheless, once the
 * SQL is not at work any more.
 */
export interface CancelSql {
  /** `turn` of the request. */
  readonly cancel: number;
}

/**
 * The exit code of a query process that ends by no fault of a query: Postgres goes on from another history, the folder
 * of the process is gone, or it keeps too much memory of earlier SQL.
 */
export const exitCodeOfChange = 75;

interface TableRequest {
  readonly teamId: string;
  /** Only tables linked to this app; null: all of the team. */
  readonly appId: string | null;
  readonly tableId: string;
  readonly query: GivenQuery;
  /** What comes before the names of members in messages, such as `query.`. */
  readonly prefix: string;
}

/** The body of `POST /rows`. */
export interface QueryRequest extends TableRequest {
  /** Where a page goes on; then the query is that of the page before. */
  readonly continuation: string | null;
  readonly limit: number;
  readonly format: RowsFormat;
}

/** The body of `POST /export`. The answer is the file. */
export interface ExportRequest extends TableRequest {
  readonly format: ExportFormat;
  /** If that is the format. */
  readonly csv: CsvForm;
}

/** The body of `POST /sql`. */
export interface SqlTurnRequest extends SqlRequest {
  /** The number of the request, by which it is cancelled. */
  readonly turn: number;
}

/** SQL as a client asks it. */
export interface SqlRequest {
  readonly teamId: string;
  readonly appId: string | null;
  readonly sql: string;
  /** The values of `$1`, `$2` and so on, or of `$name`. */
  readonly parameters: readonly SqlParameter[] | Readonly<Record<string, SqlParameter>>;
  readonly format: RowsFormat;
}

/** Says that what a continuation goes on in is not there any more. `prefix`: as in TableRequest. */
export function expiredContinuation(prefix: string): {
  readonly type: 'continuation_expired';
  readonly message: string;
} {
  return {
    type: 'continuation_expired',
    message: `${prefix}continuation: what it goes on in is not there any more: ask for the first page again`,
  };
}

/** The continuation that an engine holds under an ID. Both are UUIDs. */
export function formatEngineContinuation(engine: string, id: string): string {
  return `${engine}.${id}`;
}

/** Null for a text that no engine gave. */
export function parseEngineContinuation(text: string): { readonly engine: string; readonly id: string } | null {
  const [engine, id, ...more] = text.split('.');
  return more.length === 0 && isUuid(engine) && isUuid(id) ? { engine, id } : null;
}

function isUuid(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/**
 * The headers of a 200. A 403 says that the secret is another one; any other answer has a QueryError as JSON: its type
 * and message.
 */
export const answerHeaders = {
  version: 'tablog-version',
  count: 'tablog-count',
  cold: 'tablog-cold',
  continuation: 'tablog-continuation',
} as const;

/** The body of the answer to `GET /use`: what the engine has in use. */
export interface EngineUse {
  readonly copies: number;
  readonly bytes: number;
  readonly fills: number;
  readonly fillsWaiting: number;
  readonly residentBytes: number;
}
