/** Cells as text, to show, copy and edit them. */
import { isArrayType, itemKind, type ColumnType, type ScalarKind } from '../../../src/language/values/column-type.ts';
import { fitToken } from '../../../src/language/values/fit-value.ts';
import { elementsOf, isExactNumber } from '../../../src/language/values/json-text.ts';
import { typesOnScreen } from '../tables/column-types.ts';
import { keepsDigits, numberOf, parseJson } from '../ui/json-tokens.ts';
import { numberOfText, shorten } from '../ui/number-of-text.ts';

/** A value as text; empty for an empty cell. */
export function textOfCell(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * The typed or pasted text as a value of a column of this type; null for an empty text. Throws an Error that says what
 * is wrong, also for a value that the service would refuse.
 */
export function cellOfText(type: ColumnType, text: string): unknown {
  if (text === '') return null;
  const value = valueOfText(type, text);
  if (fitToken(JSON.stringify(value), type, false) === undefined) throw new Error(misfitOf(type, text));
  return value;
}

function valueOfText(type: ColumnType, text: string): unknown {
  if (isArrayType(type)) {
    const value = typesOnScreen[itemKind(type)].form === null ? listOfTexts(text) : exactJson(text);
    if (!Array.isArray(value))
      throw new Error(`${shorten(text)} is not a list. Write it in square brackets, such as ["a", "b"].`);
    return value;
  }
  switch (typesOnScreen[type].reads) {
    case 'number':
      return numberOfText(text);
    case 'boolean': {
      if (!/^(true|false)$/i.test(text)) throw new Error(`${shorten(text)} is neither true nor false.`);
      return text.toLowerCase() === 'true';
    }
    case 'json':
      return exactJson(text);
    case 'text':
      return text;
  }
}

/** The value of a JSON text. Throws an Error if the text is no JSON, or if one of its numbers would change. */
export function exactJson(text: string): unknown {
  const value = parse(text);
  // The service stores an integer that no double has as text. Other numbers keep their digits, if the browser can do
  // that.
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g))
    if (!token.startsWith('"') && !(keepsDigits && isExactNumber(token))) numberOfText(token);
  return value;
}

/** A list whose numbers become texts with the same digits, as in a column of texts. */
function listOfTexts(text: string): unknown {
  const value = parse(text);
  if (!Array.isArray(value) || !value.some((item) => numberOf(item) !== null)) return exactJson(text);
  const tokens = elementsOf(text.trim());
  return value.map((item: unknown, at) => (numberOf(item) === null ? item : tokens[at]));
}

function misfitOf(type: ColumnType, text: string): string {
  const form = isArrayType(type) ? null : typesOnScreen[type].form;
  if (form === null) return `${shorten(text)} does not fit the type ${type}.`;
  const name = form.article === null ? form.name : `${form.article} ${form.name}`;
  return `${shorten(text)} is not ${name}.${form.example === null ? '' : ` Write it as in ${form.example}.`}`;
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    throw new Error(`${shorten(text)} is not valid JSON.`, { cause: error });
  }
}

/** Whether two values of cells are equal, whatever the order of their keys. */
export function isSameCell(one: unknown, other: unknown): boolean {
  return JSON.stringify(sorted(one ?? null)) === JSON.stringify(sorted(other ?? null));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  );
}

/** The URL to which a value leads; null if there is none that is safe to follow. */
export function linkOf(type: ScalarKind, text: string): string | null {
  switch (typesOnScreen[type].link) {
    case 'mail':
      return `mailto:${encodeURIComponent(text)}`;
    case 'phone':
      return `tel:${text.replaceAll(/[^\d+]/g, '')}`;
    case 'web':
      return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol) ? text : null;
    case null:
      return null;
  }
}
