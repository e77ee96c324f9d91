import { TablogError, Unreachable } from '../../../clients/typescript/src/index.ts';

/** An error as a person reads it. */
export function describeError(error: unknown): string {
  if (error instanceof Unreachable) return 'The service cannot be reached.';
  if (error instanceof TablogError && error.status === 401) return 'The service does not accept this token.';
  return error instanceof Error ? error.message : String(error);
}

export function isErrorOfType(error: unknown, ...types: readonly TablogError['type'][]): boolean {
  return error instanceof TablogError && types.includes(error.type);
}
