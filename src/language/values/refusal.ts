/** The error types that a decision may answer with (spec section 7, decisions section 1 and 5). */
export type RefusalType =
  | 'request_validation_error'
  | 'limit_exceeded'
  | 'payment_required'
  | 'table_not_found'
  | 'row_not_found'
  | 'stash_not_found'
  | 'upload_not_found'
  | 'payload_too_large'
  | 'precondition_failed'
  | 'column_id_not_found'
  | 'column_has_invalid_value'
  | 'column_id_reserved'
  | 'column_id_not_unique'
  | 'key_not_unique';

/** Why a command takes no effect. */
export interface Refusal {
  readonly type: RefusalType;
  readonly message: string;
}
