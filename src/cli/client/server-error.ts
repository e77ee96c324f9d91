/** Describes errors of the service to the user of the command line. */
import { TablogError, Unreachable } from '../../../clients/typescript/src/index.ts';

/** The message for an error of the service or of the connection to it. */
export function describeServerError(error: Error): string {
  return error instanceof TablogError && error.type !== null ? `${error.type}: ${error.message}` : error.message;
}

/** Whether the service refused a request or could not be reached, so that the error is not a bug of this program. */
export function isServerError(error: unknown): error is TablogError | Unreachable {
  return error instanceof TablogError || error instanceof Unreachable;
}
