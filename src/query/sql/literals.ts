/** Values in the text of the engine. */
import { QueryError } from '../language/query-error.ts';
import { refused, take, known, node, text, type SqlNode } from './node.ts';
import { typeText } from './types.ts';

/** A text in single quotes. It has no other way to end than the last of them. */
export function quoteText(value: string): string {
  if (value.includes('\0')) throw new QueryError('query_invalid', 'A text has the character U+0000, which texts cannot have.');
  return `'${value.replaceAll("'", "''")}'`;
}

/** A parameter as a value. Its type is that of a constant in the query, so a text also compares with a date. */
export function parameterText(value: string | number | boolean | null): string {
  if (typeof value === 'string') return quoteText(value);
  if (typeof value === 'boolean') return `CAST(${quoteText(String(value))} AS BOOLEAN)`;
  if (value === null) return 'NULL';
  if (!Number.isSafeInteger(value)) return `CAST(${quoteText(String(value))} AS DOUBLE)`;
  // A bare number would be a place after ORDER BY.
  return `CAST(${quoteText(String(value))} AS ${Math.abs(value) < 2 ** 31 ? 'INTEGER' : 'BIGINT'})`;
}

const whole = /^-?\d{1,40}$/;
const double = /^-?\d{1,400}(?:\.\d{1,400})?(?:e[+-]?\d{1,4})?$/i;

/** The value of a constant in the tree. */
export function constantText(value: SqlNode): string {
  const { type, is_null: isNull, value: given } = take(value, 'type', 'is_null', 'value');
  const { id, type_info: info } = take(node(type), 'id', 'type_info');
  if (isNull === true) return id === 'NULL' ? 'NULL' : `CAST(NULL AS ${typeText(node(type))})`;
  if (id === 'VARCHAR' && info === null) return quoteText(text(given));
  if (id === 'BOOLEAN' && info === null) return `CAST('${given === true}' AS BOOLEAN)`;
  if (id === 'DOUBLE' && info === null && double.test(text(given))) return `CAST('${text(given)}' AS DOUBLE)`;
  if (wholeTypes.has(text(id)) && info === null) return wholeText(given);
  if (id === 'DECIMAL') {
    const scale = known(scales, node(info)['scale'], 'A number with the scale');
    const [, sign, digits] = /^(-?)(\d+)$/.exec(wholeText(given))!;
    const padded = digits!.padStart(scale + 1, '0');
    return scale === 0 ? `${sign}${padded}` : `${sign}${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
  }
  throw refused(`A constant of the type ${String(id)}`);
}

const wholeTypes: ReadonlySet<string> = new Set(['INTEGER', 'BIGINT', 'HUGEINT', 'UHUGEINT']);
const scales: ReadonlyMap<string, number> = new Map(Array.from({ length: 39 }, (_, scale) => [String(scale), scale]));

/** An integer; those beyond 64 bits come in two halves. */
function wholeText(given: unknown): string {
  if (typeof given === 'string') {
    if (!whole.test(given)) throw refused('A number that is written so');
    return given;
  }
  const { upper, lower } = take(node(given), 'upper', 'lower');
  if (!whole.test(text(upper)) || !whole.test(text(lower))) throw refused('A number that is written so');
  return String((BigInt(text(upper)) << 64n) + BigInt(text(lower)));
}
