/**
 * The error types of the interface (spec section 7, decisions sections 1, 3 and 5). This table determines the statuses,
 * the error answers in the OpenAPI document and whether a request is worth a retry. docs/reference/errors.md says for
 * each type what a client can do.
 */
import type { RefusalType } from '../../../language/values/refusal.ts';
import type { QueryErrorType } from '../../query/language/query-error.ts';

interface DescribedError {
  readonly status: number;
  /** The meaning of the type, for the OpenAPI document. */
  readonly meaning: string;
  /** A message that an error of this type may have. */
  readonly example: string;
  /** Whether to send the same request again. If so, the answers carry `Retry-After`. */
  readonly isWorthARetry?: true;
}

const types = {
  request_validation_error: {
    status: 400,
    meaning: 'The request is malformed. The message says where.',
    example: 'rows[3]: a row must be an object',
  },
  limit_exceeded: {
    status: 400,
    meaning:
      'A table, a stash, a row, a cell or a query is larger than the limit. Or the team has reached a default limit of the service: tables, stashes, open uploads, open bodies, or bytes written today. The message names the limit.',
    example: 'rows[0].name: a value must not be longer than 262144 bytes',
  },
  query_invalid: {
    status: 400,
    meaning:
      'The SQL is not one SELECT, uses something that is not allowed here, or does not fit the tables. The message says which.',
    example: 'There is no table "cars".',
  },
  idempotency_key_reused: {
    status: 400,
    meaning: 'The `Idempotency-Key` was used for another request in the last seven days.',
    example: 'Idempotency-Key: this key was used for another request. Use a new key.',
  },
  continuation_expired: {
    status: 400,
    meaning:
      'The rows of the next page were replaced more than an hour ago, or the query engine no longer has the copy of the table from which it answered.',
    example: 'query.continuation: the rows were replaced too long ago. Begin again with the first page.',
  },
  stash_not_found: {
    status: 400,
    meaning: 'There is no such stash. It may have been deleted, or have expired.',
    example: 'there is no stash import-7',
  },
  payment_required: {
    status: 402,
    meaning:
      'The team is suspended, or a quota of its plan is used up: rows, tables, stashes, open bodies, open uploads and their bytes, bytes of files, or bytes of the log today. The message names the quota, how much is used and how much is allowed.',
    example: 'The team is suspended.',
  },
  forbidden: {
    status: 403,
    meaning:
      'The token may not do this: it may only read, it is limited to another app, or the request needs a token of the whole team or of an operator (or, for an operator, a token of a team). Or the URL of a file is not signed, or its signature has expired.',
    example: 'This token is for reading only.',
  },
  request_error: {
    status: 404,
    meaning: 'The bearer token is missing, unknown, revoked or expired.',
    example: 'The bearer token does not exist or is incorrect.',
  },
  not_found: { status: 404, meaning: 'There is nothing at this path.', example: 'There is nothing at this path.' },
  table_not_found: { status: 404, meaning: 'The team has no such table.', example: 'There is no such table.' },
  row_not_found: { status: 404, meaning: 'The table has no such row.', example: 'There is no such row.' },
  job_not_found: { status: 404, meaning: 'The team has no such job.', example: 'There is no such job.' },
  upload_not_found: { status: 404, meaning: 'The team has no such upload.', example: 'There is no such upload.' },
  team_not_found: { status: 404, meaning: 'There is no such team.', example: 'There is no such team.' },
  token_not_found: { status: 404, meaning: 'There is no such token.', example: 'There is no such token.' },
  method_not_allowed: {
    status: 405,
    meaning: 'The path does not have this method. `Allow` lists its methods.',
    example: 'This path has no method PUT. It has GET, POST.',
  },
  not_acceptable: {
    status: 406,
    meaning:
      '`Accept` names no media type in which this path can answer. The message lists the media types of the path.',
    example: 'Accept: this path has none of these media types. It answers with application/json.',
  },
  query_timeout: {
    status: 408,
    meaning: 'The query took longer than the service allows.',
    example: 'The query took longer than 30 s.',
  },
  request_timeout: {
    status: 408,
    meaning:
      'The body arrived too slowly, or took too long. The service closes the connection. This try changed nothing.',
    example: 'The body arrives too slowly: less than 1024 bytes a second in 30 s.',
  },
  upload_incomplete: {
    status: 409,
    meaning: 'The upload cannot be completed, because not all bytes of the file have arrived.',
    example: 'The bytes of the file have not arrived, or not all of them.',
  },
  upload_completed: {
    status: 409,
    meaning: 'The upload is complete already, so its file cannot be sent again.',
    example: 'The upload is complete already. For another file, create another upload.',
  },
  key_not_unique: {
    status: 409,
    meaning: 'Two rows would have the same key. The message names both rows, the columns and the values.',
    example: 'rows[0]: row AAAAAAAAAAEAAAAAAAAAAA has the same key, "email" = "ada@example.org"',
  },
  precondition_failed: {
    status: 412,
    meaning:
      'The row or the table has changed since the version in `If-Match`, or in `ifMatch` of an operation of a batch. Or the request changes rows by filter, and others changed some of these rows during each of its tries.',
    example: 'the row has changed: its version is 45, not 42 or older',
  },
  payload_too_large: {
    status: 413,
    meaning: 'The body or the uploaded file is larger than the service accepts.',
    example: 'The body is larger than 15000000 bytes.',
  },
  range_not_satisfiable: {
    status: 416,
    meaning: 'The file does not have the part that `Range` asks for. `Content-Range` has the length of the file.',
    example: 'The file has 1024 bytes.',
  },
  column_id_not_found: {
    status: 422,
    meaning: 'The request names a column that the table does not have.',
    example: 'rows[0].size: the table has no column "size"',
  },
  column_has_invalid_value: {
    status: 422,
    meaning: 'A value does not fit the type of its column.',
    example: 'rows[0].price: "cheap" does not fit the column\'s type number',
  },
  column_id_reserved: {
    status: 422,
    meaning: 'The service uses the column ID itself.',
    example: 'schema.columns[0].id: the column ID "$stashID" is reserved',
  },
  column_id_not_unique: {
    status: 422,
    meaning: 'A column ID occurs twice in the schema.',
    example: 'schema.columns[1].id: the column ID "name" occurs twice',
  },
  rate_limited: {
    status: 429,
    meaning:
      'The team has used up a limit of requests, rows, bytes or imports, or its share of the service. Or too many requests without a valid token, or to paths that need none, came from the address of the client. This try changed nothing. `Retry-After` says when to try again.',
    example: 'The team is limited to 100 requests in 60 s. It has 0 left for the next 30 s.',
    isWorthARetry: true,
  },
  internal_error: {
    status: 500,
    meaning: 'The service failed. Its log has the details under the ID in the message.',
    example: 'The service failed. Its log has the details under 4bZ2vQkM-1f: tell this ID to the operator.',
  },
  service_unavailable: {
    status: 503,
    meaning:
      'The service is too busy, or is starting, or cannot reach a part of itself. Or the team is in quarantine: it waits until an operator releases it. The message says which. This try changed nothing.',
    example: 'The service is too busy, or a part of it cannot be reached. This try changed nothing.',
    isWorthARetry: true,
  },
  outcome_unknown: {
    status: 503,
    meaning:
      'The outcome did not arrive in time: the request may or may not take effect. Or a limit of bytes or of disk space turned this try away, and an earlier try with the same `Idempotency-Key` may still take effect. Send the request again with the same key, or ask `GET /jobs/{jobID}` with the ID in the header `Job-ID`.',
    example: 'The request may or may not take effect: repeat it with the same Idempotency-Key, or get the job.',
    isWorthARetry: true,
  },
} satisfies Record<string, DescribedError> & Record<RefusalType | QueryErrorType, DescribedError>;

export type ErrorType = keyof typeof types;

/** In the order of their statuses. Includes the types that decisions and queries answer with. */
export const errorTypes: Readonly<Record<ErrorType, DescribedError>> = types;

export function isErrorType(type: unknown): type is ErrorType {
  return typeof type === 'string' && Object.hasOwn(errorTypes, type);
}
