/**
 * A simple reference implementation of CSV and TSV cells (docs/spec/decisions.md 2 and 6), to compare with the service.
 */
import { boundOf, naturalType, type Json } from './column-types.ts';

const number = /^[ \t\n\r]*([-+]?)(0|[1-9][0-9]*)?(?:\.([0-9]*))?([eE][+-]?[0-9]+)?[ \t\n\r]*$/;
/** The maximum of digits without a plus, and with one. */
const digitsMax = [15, 6] as const;

/** The natural type of a text that is not empty. */
function naturalTypeOfCell(text: string): string {
  if (/^(true|false)$/i.test(text)) return 'boolean';
  const [, sign, whole = '', fraction = ''] = number.exec(text) ?? [];
  const isNumber = whole + fraction !== '' && whole.length <= digitsMax[sign === '+' ? 1 : 0];
  return isNumber && Number.isFinite(Number(text)) ? 'number' : naturalType(text)!;
}

/** The type inferred for a column of these texts. */
export function inferredType(texts: readonly string[]): string {
  const naturals = [...new Set(texts.filter((text) => text !== '').map(naturalTypeOfCell))];
  return naturals.length === 0 ? 'string' : naturals.reduce(boundOf);
}

/** How a text reads in a column of its own type or a wider one. */
export function presentedCell(text: string, type: string): Json {
  if (type === 'number') return Number(text);
  return type === 'boolean' ? text.toLowerCase() === 'true' : text;
}
