/** The error types of queries in the interface (docs/spec/queries.md). */
export type QueryErrorType =
  | 'request_validation_error'
  | 'limit_exceeded'
  | 'continuation_expired'
  | 'query_timeout'
  | 'service_unavailable'
  | 'query_invalid'
  | 'payment_required'
  | 'table_not_found'
  | 'column_id_not_found'
  | 'column_has_invalid_value';

/** An error whose type and message go to the client. */
export class QueryError extends Error {
  override readonly name = 'QueryError';
  readonly type: QueryErrorType;

  constructor(type: QueryErrorType, message: string, options?: ErrorOptions) {
    super(message, options);
    this.type = type;
  }
}

/** The error for a malformed query. The message begins with the place of the problem (`filter.and[1].op`). */
export function malformed(place: string, problem: string): QueryError {
  return new QueryError('request_validation_error', `${place}: ${problem}`);
}
