import type { ErrorType } from '../answers/http-error.ts';

/** The meaning of each error type, with an example message. */
export const errorMeanings: Readonly<Record<ErrorType, readonly [meaning: string, message: string]>> = {
  request_validation_error: ['The request is malformed. The message names the place.', 'rows[3]: must be an object.'],
  limit_exceeded: [
    'A limit of tables, stashes, rows or cells is exceeded, or the team has as many tables, stashes, open uploads or open bodies as the service allows by default, or has written as many bytes today.',
    'rows[0].a: the cell has more than 262144 bytes',
  ],
  idempotency_key_reused: [
    'The `Idempotency-Key` was used for another request.',
    'Idempotency-Key: it was used for another request.',
  ],
  continuation_expired: [
    'The rows that the page belongs to were replaced too long ago.',
    'query.continuation: it has expired.',
  ],
  stash_not_found: ['There is no such stash, or no longer.', 'there is no stash import-7'],
  payment_required: [
    'The team is suspended, or a quota of its plan is used up: rows, tables, stashes, open bodies, open uploads and their bytes, bytes of files, or bytes of the log today. The message says which, how much is used, and how much is allowed.',
    'The team is suspended.',
  ],
  forbidden: [
    'The token may not do this: it is for reading only, for another app, for one app where all of the team is asked for, or of a team where one of an operator is needed, or the other way round. Of an address for files: it is not signed, or no longer valid.',
    'This token is for reading only.',
  ],
  request_error: [
    'The bearer token is missing, does not exist or is incorrect.',
    'The bearer token does not exist or is incorrect.',
  ],
  not_found: ['There is nothing at this path.', 'There is nothing at this path.'],
  table_not_found: ['The team has no such table.', 'There is no such table.'],
  row_not_found: ['The table has no such row.', 'There is no such row.'],
  job_not_found: ['The team has no such job.', 'There is no such job.'],
  upload_not_found: ['The team has no such upload.', 'There is no such upload.'],
  team_not_found: ['There is no such team.', 'There is no such team.'],
  token_not_found: ['There is no such token.', 'There is no such token.'],
  method_not_allowed: [
    'The path does not know the method. `Allow` has those that it knows.',
    'This path knows GET, POST, not PUT.',
  ],
  not_acceptable: [
    '`Accept` names only media types that the answer does not have. The message says which it has.',
    'Accept: none of it is there. This path answers with application/json.',
  ],
  query_invalid: [
    'The SQL is no SELECT that is possible here, or does not fit the tables. The message is that of the engine, or says what is not possible.',
    'There is no table "cars".',
  ],
  query_timeout: ['The query takes longer than a query may.', 'The query took longer than 30 s.'],
  request_timeout: [
    'The body arrives too slowly, or took too long. The connection is closed. Nothing was changed by this try.',
    'The body arrives too slowly: less than 1024 bytes a second came in 30 s.',
  ],
  upload_incomplete: ['Not all of the file has arrived.', 'Not all of the file has arrived.'],
  upload_completed: ['The upload is complete already.', 'The upload is complete already.'],
  precondition_failed: [
    'It has changed since the version in `If-Match`.',
    'the row has changed: its version is 45, not 42 or older',
  ],
  payload_too_large: ['The body is too large.', 'The body has more than 15000000 bytes.'],
  range_not_satisfiable: [
    'The file has no such part. `Content-Range` says how long it is.',
    'The file has 1024 bytes.',
  ],
  column_id_not_found: ['A column is not in the schema of the table.', 'rows[0].size: the table has no column "size"'],
  column_has_invalid_value: ['A value does not fit the type of its column.', 'rows[0].price: "cheap" is no number'],
  column_id_reserved: ['A column ID is reserved.', 'schema.columns[0].id: the column ID "$stashID" is reserved'],
  column_id_not_unique: [
    'A column ID occurs twice in the schema.',
    'schema.columns[1].id: the column ID "name" occurs twice',
  ],
  rate_limited: [
    'The team has used up a limit of requests, rows, bytes or imports, or its share of the service; or too many requests without a valid token, or to paths that need none, came from the address of the client. Nothing was changed by this try. `Retry-After` says when to try again.',
    'The limit of the team is 100 requests in 60 s. For the next 30 s 0 of them are left.',
  ],
  internal_error: [
    'Something went wrong in the service. It is in its log, under the ID of the request.',
    'Something went wrong here. The log has more under 4bZ2vQkM-1f.',
  ],
  service_unavailable: [
    'The service is too busy, or part of it is away, or the team waits until an operator has mended the processing of one of its events (quarantine). The message says which. Nothing was changed by this try.',
    'The service is too busy, or part of it is away. Nothing was changed by this try.',
  ],
  outcome_unknown: [
    'Whether the request took effect was not known in time. Or this try was turned away, by a limit of bytes or of disk space, and an earlier one with the same `Idempotency-Key` may still take effect. `Job-ID` has the ID under which to ask.',
    'Nobody could tell in time whether the request took effect.',
  ],
};
