/** Errors of the interface, as exceptions. */
import type { ErrorType } from './error-types.ts';

/**
 * Ends a message that speaks of this try only. An earlier try with the same Idempotency-Key may have taken effect, or
 * may still do so.
 */
export const noEffect = 'This try changed nothing.';

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
