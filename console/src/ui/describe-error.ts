import { TablogError, Unreachable } from '../../../clients/typescript/src/index.ts';

/** An error as a person reads it. */
export function describeError(error: unknown): string {
  if (error instanceof Unreachable) return 'The service cannot be reached.';
  return error instanceof Error ? error.message : String(error);
}

/** Whether the service does not know the token, or no longer. */
export function isTokenRefused(error: unknown): boolean {
  return isErrorOfType(error, 'request_error');
}

/** Whether the same may succeed later: no answer came, or the service has failed. */
export function isPassing(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof TablogError && error.status !== null && error.status >= 500);
}

/** Whether something that was asked for does not exist. */
export function isNotThere(error: unknown): boolean {
  return error instanceof TablogError && error.status === 404;
}

export function isErrorOfType(error: unknown, ...types: readonly TablogError['type'][]): boolean {
  return error instanceof TablogError && types.includes(error.type);
}
