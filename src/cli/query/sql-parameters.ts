import type { SqlParameter } from '../../api/query/sql/literals.ts';
import { numberToken, parseExactly } from '../../language/formats/exact-json.ts';

/** Adds a parameter. A JSON number, string, true, false or null is parsed; any other text is taken as it is. */
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
