/** Literals: their SQL, and their values as far as the tree tells. */
import { QueryError } from '../language/query-error.ts';
import { refused, take, known, node, nodes, text, type SqlNode } from './node.ts';
import { typeText } from './types.ts';

/** A text in single quotes. Nothing in it can end the literal. */
export function quoteText(value: string): string {
  if (value.includes('\0')) throw new QueryError('query_invalid', 'A text must not contain the character U+0000.');
  return `'${value.replaceAll("'", "''")}'`;
}

/** The value of an argument that is a literal or a parameter; undefined for any other expression. */
export type Literal = string | number | boolean | null | undefined;

/** A value of a parameter. An object is a number that JavaScript would spell differently (`parseExactly`). */
export type SqlParameter = string | number | boolean | null | object;

/**
 * The SQL of a parameter's value. It has the type of the same constant in a query, so a text also compares with a date.
 */
export function parameterText(value: SqlParameter): string {
  if (typeof value === 'string') return quoteText(value);
  if (typeof value === 'boolean') return `CAST(${quoteText(String(value))} AS BOOLEAN)`;
  if (value === null) return 'NULL';
  const token = JSON.stringify(value);
  const number = Number(token);
  if (Number.isSafeInteger(number)) {
    // After ORDER BY a bare number would be a position.
    return `CAST(${quoteText(String(number))} AS ${Math.abs(number) < 2 ** 31 ? 'INTEGER' : 'BIGINT'})`;
  }
  // As a double it would also equal texts of other integers.
  if (whole.test(token) && Math.abs(number) < 2 ** 127)
    return `CAST(${quoteText(token)} AS ${Math.abs(number) < 2 ** 63 ? 'BIGINT' : 'HUGEINT'})`;
  return `CAST(${quoteText(String(number))} AS DOUBLE)`;
}

const whole = /^-?\d{1,40}$/;
const double = /^-?\d{1,400}(?:\.\d{1,400})?(?:e[+-]?\d{1,4})?$/i;

/** The SQL of a constant in the tree. */
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

/** The text of an integer. The tree has integers beyond 64 bits as two halves. */
function wholeText(given: unknown): string {
  if (typeof given === 'string') {
    if (!whole.test(given)) throw refused('A number in this notation');
    return given;
  }
  const { upper, lower } = take(node(given), 'upper', 'lower');
  if (!whole.test(text(upper)) || !whole.test(text(lower))) throw refused('A number in this notation');
  return String((BigInt(text(upper)) << 64n) + BigInt(text(lower)));
}

/** Functions that are constant if their arguments are. */
const joining: ReadonlySet<string> = new Set(['||', 'chr', 'concat']);

/**
 * Whether an argument certainly has the same value for each row: a literal, or casts and concatenations of literals.
 */
export function isConstant(given: SqlNode): boolean {
  if (given['class'] === 'CAST') return isConstant(node(given['child']));
  if (given['class'] === 'FUNCTION')
    return (
      joining.has(String(given['function_name']).toLowerCase()) &&
      nodes(given['children']).every((child) => isConstant(child))
    );
  return given['class'] === 'CONSTANT' || given['class'] === 'PARAMETER';
}

/** The text of a constant; null if the node is not a constant text. */
export function textOfConstant(given: SqlNode): string | null {
  const { type, value } = given['class'] === 'CONSTANT' ? node(given['value']) : {};
  return typeof value === 'string' && node(type)['id'] === 'VARCHAR' ? value : null;
}

/** The value of a constant that is a text, a number, a boolean or NULL. */
export function literalOf(constant: SqlNode): Literal {
  const { type, is_null: isNull, value } = constant;
  if (isNull === true) return null;
  if (node(type)['id'] === 'VARCHAR' || typeof value === 'boolean') return value as string | boolean;
  // The tree has numbers as texts. A decimal's text has no point, so its value is unknown here.
  const number = Number(value);
  return node(type)['id'] === 'DECIMAL' || Number.isNaN(number) ? undefined : number;
}
