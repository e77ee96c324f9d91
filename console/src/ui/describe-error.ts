import { TablogError, Unreachable } from '../../../clients/typescript/src/index.ts';

/** An error as a text for people. */
export function describeError(error: unknown): string {
  if (error instanceof Unreachable) return 'The service cannot be reached.';
  return error instanceof Error ? error.message : String(error);
}

/** Whether the service refuses the token as unknown, revoked or expired. */
export function isTokenRefused(error: unknown): boolean {
  return isErrorOfType(error, 'request_error');
}

/** Whether the request may succeed later: no answer came, or the service failed. */
export function isPassing(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof TablogError && error.status !== null && error.status >= 500);
}

/** Whether the requested thing does not exist. */
export function isNotThere(error: unknown): boolean {
  return error instanceof TablogError && error.status === 404;
}

export function isErrorOfType(error: unknown, ...types: readonly TablogError['type'][]): boolean {
  return error instanceof TablogError && types.includes(error.type);
}
