/**
 * Values as their column's type presents them (docs/spec/decisions.md 2, "Types" and "Widening"). Values are JSON
 * texts: a number keeps its digits as written.
 */
import { isArrayType, itemKind, scalarTraits, takesEveryString, typeBit } from './column-type.ts';
import type { ColumnType, ScalarKind } from './column-type.ts';
import { decodeString, elementsOf, withExactNumbers } from './json-text.ts';
import { classify } from './json-value.ts';
import { stringTypes } from './string-types.ts';

const quote = 34;

/**
 * The value as a column of this type presents it; undefined if it misfits.
 * @param token the value's JSON text, not `null`
 * @param wrap whether a value that fits the items of an array type becomes an array of one (docs/spec/decisions.md 6)
 */
export function fitToken(token: string, type: ColumnType, wrap: boolean): string | undefined {
  if (fitsToken(token, type)) {
    return isArrayType(type) ? presentElements(token, itemKind(type)) : presentScalar(token, type);
  }
  if (!wrap || !isArrayType(type)) return undefined;
  const item = itemKind(type);
  return fitsToken(token, item) ? `[${presentScalar(token, item)}]` : undefined;
}

function fitsToken(token: string, type: ColumnType): boolean {
  if (token.charCodeAt(0) !== quote) return classify(token, typeBit(type)).fits !== 0;
  return takesEveryString(type) || stringTypes(decodeString(token), typeBit(type)) !== 0;
}

/**
 * Converts a value from the presentation of one type to that of a wider type.
 * @param from a type that is at most `to`
 */
export function widenToken(token: string, from: ColumnType, to: ColumnType): string {
  if (to === 'json') return token;
  if (!isArrayType(to)) return presentScalar(token, to);
  if (!isArrayType(from)) return `[${presentScalar(token, itemKind(to))}]`;
  return presentElements(token, itemKind(to));
}

/** The array with its elements as this type presents them; the same text if no element changes. */
function presentElements(array: string, type: ScalarKind): string {
  const elements = elementsOf(array);
  const presented = elements.map((element) => presentScalar(element, type));
  return presented.every((element, at) => element === elements[at]) ? array : `[${presented.join(',')}]`;
}

/**
 * A number or boolean as this type presents it: in a column of strings its text, and so is an integer within `json`
 * that a double cannot hold. Other values stay as written.
 */
function presentScalar(token: string, type: ScalarKind): string {
  if (token.charCodeAt(0) === quote) return token;
  const { json } = scalarTraits[type];
  if (json === 'any') return withExactNumbers(token);
  return json === 'string' ? `"${token}"` : token;
}
