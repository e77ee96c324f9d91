/** Errors of the interface, as exceptions. */

/** Each error type of the interface and its status (spec section 7, decisions sections 1, 3 and 5). */
export const statusOf = {
  request_validation_error: 400,
  limit_exceeded: 400,
  query_invalid: 400,
  idempotency_key_reused: 400,
  continuation_expired: 400,
  stash_not_found: 400,
  payment_required: 402,
  forbidden: 403,
  request_error: 404,
  not_found: 404,
  table_not_found: 404,
  row_not_found: 404,
  job_not_found: 404,
  upload_not_found: 404,
  team_not_found: 404,
  token_not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  query_timeout: 408,
  request_timeout: 408,
  upload_incomplete: 409,
  upload_completed: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  range_not_satisfiable: 416,
  column_id_not_found: 422,
  column_has_invalid_value: 422,
  column_id_reserved: 422,
  column_id_not_unique: 422,
  rate_limited: 429,
  internal_error: 500,
  service_unavailable: 503,
  outcome_unknown: 503,
} as const;

export type ErrorType = keyof typeof statusOf;

export function isErrorType(type: unknown): type is ErrorType {
  return typeof type === 'string' && Object.hasOwn(statusOf, type);
}

/**
 * Ends the message of an error that is certain of this try only: an earlier one with the same Idempotency-Key may have
 * taken effect, or may yet.
 */
export const noEffect = 'Nothing was changed by this try.';

/** An error that is reported to the client unchanged. */
export class HttpError extends Error {
  override readonly name: string = 'HttpError';
  readonly type: ErrorType;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    type: ErrorType,
    message: string,
    headers: Readonly<Record<string, string>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.type = type;
    this.headers = headers;
  }
}
