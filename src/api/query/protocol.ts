/** The protocol between services and query processes: HTTP, and messages over the channel of the process. */
import type { RowsFormat } from '../../../projections/tables/pages.queries.ts';
import type { CsvForm, ExportFormat } from './language/export-format.ts';
import type { GivenQuery } from './language/rows-query.ts';
import type { SqlParameter } from './sql/literals.ts';

/**
 * There are two query processes. `queries` answers filters, sorts, groups and exports, which are compiled from the
 * interface's own language. `sql` answers SQL of clients.
 */
export const processKinds = ['queries', 'sql'] as const;
export type ProcessKind = (typeof processKinds)[number];

/**
 * The settings of a query process: the first message over its channel. The process reads none of them from its
 * environment.
 */
export interface EngineSettings {
  readonly kind: ProcessKind;
  readonly logLevel: string;
  /** The ID of the engine, a UUID. */
  readonly id: string;
  /** The address to listen on, and the port; 0: a free one. */
  readonly host: string;
  readonly port: number;
  readonly databaseUrl: string;
  /** The Postgres schema of the read model. */
  readonly schema: string;
  /** The folder of this process for copies of tables. */
  readonly folder: string;
  readonly memoryBytesMax: number;
  /** The service ends the process when it takes more resident memory than this. */
  readonly residentBytesMax: number;
  /** The limit of private memory that the process may map, in bytes; Infinity on systems without that limit. */
  readonly mappedBytesMax: number;
  readonly diskBytesMax: number;
  /** How many bytes must stay free on the disk of the folder. */
  readonly diskFreeMin: number;
  /** Threads of DuckDB. */
  readonly threads: number;
  /** The priority of the process: 0 is the service's priority, 19 is the lowest. */
  readonly niceness: number;
  readonly timeoutMs: number;
  /** The value that requests must have in the header `authorization`. */
  readonly secret: string;
}

/** The message of an engine that accepts requests. */
export interface EngineReady {
  readonly port: number;
}

/**
 * The message of an engine whose SQL could not be interrupted or used up the memory: the process must end because of
 * this team.
 */
export interface EngineStuck {
  /** The ID of the team that sent the SQL. */
  readonly stuck: string;
}

/** The message of an engine that cannot answer any more, with the reason. The service then ends it. */
export interface EngineEnding {
  readonly ending: string;
}

export type EngineMessage = EngineReady | EngineStuck | EngineEnding;

/**
 * The message of the service when nobody waits for the answer to SQL any more. The process still answers, once the SQL
 * has stopped.
 */
export interface CancelSql {
  /** `turn` of the request. */
  readonly cancel: number;
}

/**
 * The exit code of a query process whose end no query caused: Postgres goes on from another history, the folder of the
 * process is gone, or earlier SQL left too much memory in use.
 */
export const exitCodeOfChange = 75;

interface TableRequest {
  readonly teamId: string;
  /** Only tables linked to this app; null: all of the team. */
  readonly appId: string | null;
  readonly tableId: string;
  readonly query: GivenQuery;
  /** The prefix of members' names in messages, such as `query.`. */
  readonly prefix: string;
}

/** The body of `POST /rows`. */
export interface QueryRequest extends TableRequest {
  /** The continuation of the page before, whose query is used then; null: the first page. */
  readonly continuation: string | null;
  readonly limit: number;
  readonly format: RowsFormat;
}

/** The body of `POST /export`. The answer is the file. */
export interface ExportRequest extends TableRequest {
  readonly format: ExportFormat;
  /** How to write CSV; unused for other formats. */
  readonly csv: CsvForm;
}

/** The body of `POST /sql`. */
export interface SqlTurnRequest extends SqlRequest {
  /** The number of the request, used to cancel it. */
  readonly turn: number;
}

/** A request for SQL. */
export interface SqlRequest {
  readonly teamId: string;
  readonly appId: string | null;
  readonly sql: string;
  /** The values of `$1`, `$2` and so on, or of `$name`. */
  readonly parameters: readonly SqlParameter[] | Readonly<Record<string, SqlParameter>>;
  readonly format: RowsFormat;
}

/** The error for a continuation whose copy of the table no longer exists. `prefix` is the one of TableRequest. */
export function expiredContinuation(prefix: string): {
  readonly type: 'continuation_expired';
  readonly message: string;
} {
  return {
    type: 'continuation_expired',
    message: `${prefix}continuation: it has expired: request the first page again`,
  };
}

/** The continuation that an engine holds under an ID. Both are UUIDs. */
export function formatEngineContinuation(engine: string, id: string): string {
  return `${engine}.${id}`;
}

/** The parts of a continuation; null for a text that is not one. */
export function parseEngineContinuation(text: string): { readonly engine: string; readonly id: string } | null {
  const [engine, id, ...more] = text.split('.');
  return more.length === 0 && isUuid(engine) && isUuid(id) ? { engine, id } : null;
}

function isUuid(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/**
 * The headers of a 200. A 403 means that the secret is wrong. Any other answer has the type and message of a QueryError
 * as JSON.
 */
export const answerHeaders = {
  version: 'tablog-version',
  count: 'tablog-count',
  cold: 'tablog-cold',
  continuation: 'tablog-continuation',
} as const;

/** The body of the answer to `GET /use`: the resources that the engine uses. */
export interface EngineUse {
  readonly copies: number;
  readonly bytes: number;
  readonly fills: number;
  readonly fillsWaiting: number;
  readonly residentBytes: number;
}
