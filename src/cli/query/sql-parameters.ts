/** The values for `$1`, `$2` and so on, as they are given on the command line. */
import { parseJson } from '../client/tablog-client.ts';

export type SqlParameter = string | number | boolean | null;

/** Adds a parameter: a number, true, false, null or a text in quotes as JSON has them, and else a text as it is. */
export function addParameter(text: string, before: readonly SqlParameter[] = []): readonly SqlParameter[] {
  const value = parseJson(text) as SqlParameter | object | undefined;
  return [...before, value === undefined || (typeof value === 'object' && value !== null) ? text : value];
}
