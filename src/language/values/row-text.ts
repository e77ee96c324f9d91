/**
 * Splits row bodies into cells. A body is the JSON text of an object without nulls. It is never parsed as a whole, so
 * keys keep their order and values their text.
 */
import { decodeString, skipBlanks, stringEnd, valueEnd } from './json-text.ts';

/** A column's value in a row. */
export interface Cell {
  /** The column's ID. */
  readonly id: string;
  /** The value's JSON text as it was written. */
  readonly token: string;
}

/** The cells of a body in their order. */
export function parseRow(body: string): Cell[] {
  const cells: Cell[] = [];
  eachCell(body, (key, token) => cells.push({ id: decodeString(key), token }));
  return cells;
}

/**
 * The values of a body by column ID. (`JSON.parse` of a whole body is unreliable for IDs: in Node 24 it sometimes
 * confuses the keys of `{"d":1,"\\"d":2}`.)
 */
export function rowValues(body: string): Map<string, unknown> {
  return new Map(parseRow(body).map(({ id, token }) => [id, JSON.parse(token)]));
}

/** Calls `visit` for each cell with its key and its value, both as JSON text. */
export function eachCell(body: string, visit: (key: string, token: string) => void): void {
  let at = skipBlanks(body, skipBlanks(body, 0) + 1);
  while (body.charCodeAt(at) === 34) {
    const keyEnd = stringEnd(body, at);
    const start = skipBlanks(body, skipBlanks(body, keyEnd) + 1);
    const end = valueEnd(body, start);
    visit(body.slice(at, keyEnd), body.slice(start, end));
    // Skip the comma before the next key, or the closing brace at the end.
    at = skipBlanks(body, skipBlanks(body, end) + 1);
  }
}
