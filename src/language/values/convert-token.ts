/** Values under another type of their column (docs/decisions/0077). Values are JSON texts. */
import { fitCell } from './cell-value.ts';
import {
  arrayOf,
  isArrayType,
  isTextKind,
  itemKind,
  takesEveryString,
  type ColumnType,
  type ScalarKind,
} from './column-type.ts';
import { fitToken, widenToken } from './fit-value.ts';
import { decodeString, elementsOf } from './json-text.ts';
import { isAtMost } from './lattice.ts';
import { plainCells } from './rule.ts';

const quote = 34;
const bracket = 91;

/** Whether every value of `from` fits `to`. Markdown is text, so every value that fits `string` fits it. */
export function isSafe(from: ColumnType, to: ColumnType): boolean {
  return isAtMost(from, isArrayType(to) ? arrayOf(textOr(itemKind(to))) : textOr(to));
}

/** For every type of text: the widest one. */
function textOr(kind: ScalarKind): ScalarKind {
  return isTextKind(kind) ? 'string' : kind;
}

/**
 * Converts a value from the presentation of one type to the presentation of another; undefined if it does not fit. A
 * text is converted like a CSV cell with this text. If `to` is no array type, an array of one item is converted like
 * its item.
 */
export function convertToken(token: string, from: ColumnType, to: ColumnType): string | undefined {
  if (isSafe(from, to)) return widenToken(token, from, to);
  const isArray = token.charCodeAt(0) === bracket;
  if (isArrayType(to))
    return isArray ? arrayAs(token, itemKind(to)) : wrapped(scalarAs(token, itemKind(to)), token, to);
  if (!isArray) return scalarAs(token, to);
  const elements = elementsOf(token);
  return elements.length === 1 ? scalarAs(elements[0]!, to) : undefined;
}

function arrayAs(token: string, item: ScalarKind): string | undefined {
  const elements: string[] = [];
  for (const element of elementsOf(token)) {
    const fitted = element === 'null' ? undefined : scalarAs(element, item);
    if (fitted === undefined) return undefined;
    elements.push(fitted);
  }
  return `[${elements.join(',')}]`;
}

/** A value as an array of one item. If the value is no such item but a text, it may be the JSON text of an array. */
function wrapped(item: string | undefined, token: string, to: ColumnType): string | undefined {
  if (item !== undefined) return `[${item}]`;
  return token.charCodeAt(0) === quote ? fitText(decodeString(token), to) : undefined;
}

function scalarAs(token: string, to: ScalarKind): string | undefined {
  if (token.charCodeAt(0) !== quote) return fitToken(token, to, false);
  // A text stays a text in columns of texts and of `json`. Any other type reads it like a cell.
  return takesEveryString(to) ? token : fitText(decodeString(token), to);
}

/** An empty text fits no type but text, and `fitCell` does not accept one. */
function fitText(text: string, to: ColumnType): string | undefined {
  return text === '' ? undefined : fitCell(text, to, false, plainCells);
}
