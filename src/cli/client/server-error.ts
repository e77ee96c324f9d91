/** Errors between the command line and the service, in terms of the user. */
import { TablogError, Unreachable } from '../../../clients/typescript/src/index.ts';

/** What the user is told of an error that has to do with the service. */
export function describeServerError(error: Error): string {
  return error instanceof TablogError && error.type !== null ? `${error.type}: ${error.message}` : error.message;
}

/** Whether the service refused something, or could not be reached: no bug of this program. */
export function isServerError(error: unknown): error is TablogError | Unreachable {
  return error instanceof TablogError || error instanceof Unreachable;
}
