/** A request that is malformed regardless of any state: it never becomes an event. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest';
  readonly type = 'request_validation_error';
}
