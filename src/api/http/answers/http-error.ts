/** Errors of the interface, as exceptions. */
import type { ErrorType } from './error-types.ts';

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
