/**
 * The error types of the interface (spec section 7, decisions sections 1, 3 and 5). Statuses, the answers of errors in
 * the OpenAPI document and whether a request is worth a retry follow from this table; docs/reference/errors.md says of
 * each type what a client can do.
 */
import type { RefusalType } from '../../../language/values/refusal.ts';
import type { QueryErrorType } from '../../query/language/query-error.ts';

interface DescribedError {
  readonly status: number;
  /** What it means, for the OpenAPI document. */
  readonly meaning: string;
  /** A message that it may come with. */
  readonly example: string;
  /** Whether the same request is worth trying again: its answers carry `Retry-After`. */
  readonly isWorthARetry?: true;
}

const types = {
  request_validation_error: {
    status: 400,
    meaning: 'The request is malformed. The message names the place.',
    example: 'rows[3]: must be an object.',
  },
  limit_exceeded: {
    status: 400,
    meaning:
      'A limit of tables, stashes, rows or cells is exceeded, or the team has as many tables, stashes, open uploads or open bodies as the service allows by default, or has written as many bytes today.',
    example: 'rows[0].a: the cell has more than 262144 bytes',
  },
  query_invalid: {
    status: 400,
    meaning:
      'The SQL is no SELECT that is possible here, or does not fit the tables. The message is that of the engine, or says what is not possible.',
    example: 'There is no table "cars".',
  },
  idempotency_key_reused: {
    status: 400,
    meaning: 'The `Idempotency-Key` was used for another request.',
    example: 'Idempotency-Key: it was used for another request.',
  },
  continuation_expired: {
    status: 400,
    meaning: 'The rows that the page belongs to were replaced too long ago.',
    example: 'query.continuation: it has expired.',
  },
  stash_not_found: {
    status: 400,
    meaning: 'There is no such stash, or no longer.',
    example: 'there is no stash import-7',
  },
  payment_required: {
    status: 402,
    meaning:
      'The team is suspended, or a quota of its plan is used up: rows, tables, stashes, open bodies, open uploads and their bytes, bytes of files, or bytes of the log today. The message says which, how much is used, and how much is allowed.',
    example: 'The team is suspended.',
  },
  forbidden: {
    status: 403,
    meaning:
      'The token may not do this: it is for reading only, for another app, for one app where all of the team is asked for, or of a team where one of an operator is needed, or the other way round. Of an address for files: it is not signed, or no longer valid.',
    example: 'This token is for reading only.',
  },
  request_error: {
    status: 404,
    meaning: 'The bearer token is missing, does not exist or is incorrect.',
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
    meaning: 'The path does not know the method. `Allow` has those that it knows.',
    example: 'This path knows GET, POST, not PUT.',
  },
  not_acceptable: {
    status: 406,
    meaning: '`Accept` names only media types that the answer does not have. The message says which it has.',
    example: 'Accept: none of it is there. This path answers with application/json.',
  },
  query_timeout: {
    status: 408,
    meaning: 'The query takes longer than a query may.',
    example: 'The query took longer than 30 s.',
  },
  request_timeout: {
    status: 408,
    meaning:
      'The body arrives too slowly, or took too long. The connection is closed. Nothing was changed by this try.',
    example: 'The body arrives too slowly: less than 1024 bytes a second came in 30 s.',
  },
  upload_incomplete: {
    status: 409,
    meaning: 'Not all of the file has arrived.',
    example: 'Not all of the file has arrived.',
  },
  upload_completed: {
    status: 409,
    meaning: 'The upload is complete already.',
    example: 'The upload is complete already.',
  },
  key_not_unique: {
    status: 409,
    meaning: 'Two rows would have the same key. The message names both rows, the columns and the values.',
    example: 'rows[0]: row AAAAAAAAAAEAAAAAAAAAAA has the same key, "email" = "ada@example.org"',
  },
  precondition_failed: {
    status: 412,
    meaning: 'It has changed since the version in `If-Match`.',
    example: 'the row has changed: its version is 45, not 42 or older',
  },
  payload_too_large: {
    status: 413,
    meaning: 'The body is too large.',
    example: 'The body has more than 15000000 bytes.',
  },
  range_not_satisfiable: {
    status: 416,
    meaning: 'The file has no such part. `Content-Range` says how long it is.',
    example: 'The file has 1024 bytes.',
  },
  column_id_not_found: {
    status: 422,
    meaning: 'A column is not in the schema of the table.',
    example: 'rows[0].size: the table has no column "size"',
  },
  column_has_invalid_value: {
    status: 422,
    meaning: 'A value does not fit the type of its column.',
    example: 'rows[0].price: "cheap" is no number',
  },
  column_id_reserved: {
    status: 422,
    meaning: 'A column ID is reserved.',
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
      'The team has used up a limit of requests, rows, bytes or imports, or its share of the service; or too many requests without a valid token, or to paths that need none, came from the address of the client. Nothing was changed by this try. `Retry-After` says when to try again.',
    example: 'The limit of the team is 100 requests in 60 s. For the next 30 s 0 of them are left.',
    isWorthARetry: true,
  },
  internal_error: {
    status: 500,
    meaning: 'Something went wrong in the service. It is in its log, under the ID of the request.',
    example: 'Something went wrong here. The log has more under 4bZ2vQkM-1f.',
  },
  service_unavailable: {
    status: 503,
    meaning:
      'The service is too busy, or part of it is away, or the team waits until an operator has mended the processing of one of its events (quarantine). The message says which. Nothing was changed by this try.',
    example: 'The service is too busy, or part of it is away. Nothing was changed by this try.',
    isWorthARetry: true,
  },
  outcome_unknown: {
    status: 503,
    meaning:
      'Whether the request took effect was not known in time. Or this try was turned away, by a limit of bytes or of disk space, and an earlier one with the same `Idempotency-Key` may still take effect. `Job-ID` has the ID under which to ask.',
    example: 'Nobody could tell in time whether the request took effect.',
    isWorthARetry: true,
  },
} satisfies Record<string, DescribedError> & Record<RefusalType | QueryErrorType, DescribedError>;

export type ErrorType = keyof typeof types;

/** In the order of their statuses. The types that decisions and queries answer with are among them. */
export const errorTypes: Readonly<Record<ErrorType, DescribedError>> = types;

export function isErrorType(type: unknown): type is ErrorType {
  return typeof type === 'string' && Object.hasOwn(errorTypes, type);
}
