import { numberToken, parseExactly } from '../../language/formats/exact-json.ts';

/**
 * The values for `$1`, `$2` and so on, as they are given on the command line. An object is a number whose digits are
 * kept.
 */
export type SqlParameter = string | number | boolean | object | null;

/** Adds a parameter: a number, true, false, null or a text in quotes as JSON has them, and else a text as it is. */
export function addParameter(text: string, before: readonly SqlParameter[] = []): readonly SqlParameter[] {
  return [...before, parseParameter(text)];
}

function parseParameter(text: string): SqlParameter {
  try {
    const value = parseExactly(text) as SqlParameter;
    return typeof value === 'object' && value !== null && numberToken(value) === null ? text : value;
  } catch {
    return text;
  }
}
