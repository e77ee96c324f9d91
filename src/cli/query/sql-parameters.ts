/** The values for `$1`, `$2` and so on, as they are given on the command line. */
export type SqlParameter = string | number | boolean | null;

/** Adds a parameter: a number, true, false, null or a text in quotes as JSON has them, and else a text as it is. */
export function addParameter(text: string, before: readonly SqlParameter[] = []): readonly SqlParameter[] {
  return [...before, parseParameter(text)];
}

function parseParameter(text: string): SqlParameter {
  try {
    const value = JSON.parse(text) as SqlParameter | object;
    return typeof value === 'object' && value !== null ? text : value;
  } catch {
    return text;
  }
}
