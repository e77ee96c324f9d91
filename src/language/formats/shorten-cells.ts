/**
 * Removes CSV and TSV cells that are longer than a cell may be from a buffer, so that a row of such cells needs little
 * memory.
 */
import type { Dialect } from './dialect.ts';
import { behindBlanks, bytesOfDialect, isAt, isLineEnd, type DialectBytes } from './dialect-bytes.ts';
import { requireUtf8 } from '../values/malformed-body.ts';

/** Maximum length of an incomplete character. */
const partBytesMax = 3;

/**
 * Replaces the text of a long cell by U+0000; if the bytes end within the cell, its arrived part. Bytes of such a cell
 * that arrive later are removed too.
 * @param start the start of a record
 * @returns the new end of the bytes, and how many of them belong to the cell in which they end
 */
export function shortenCells(
  bytes: Buffer,
  start: number,
  end: number,
  dialect: Dialect,
  cellBytesMax: number,
): { readonly end: number; readonly open: number } {
  const marks = bytesOfDialect(dialect);
  const { delimiter, quote, comment } = marks;
  const delimiterFrom = (from: number): number => {
    let at = from;
    while (at < end && !isLineEnd(bytes[at]!) && !isAt(bytes, at, end, delimiter)) at += 1;
    return at;
  };
  let to = start;
  const keep = (from: number, until: number): void => {
    bytes.copy(bytes, to, from, until);
    to += until - from;
  };
  let isFirst = true;
  for (let cell = start; cell < end;) {
    if (isFirst && comment !== null && isAt(bytes, cell, end, comment)) {
      const next = Math.min(end, lineEndFrom(bytes, cell, end) + 1);
      keep(cell, next);
      cell = next;
      continue;
    }
    const first = behindBlanks(bytes, cell, end, delimiter);
    const isQuoted = quote !== null && isAt(bytes, first, end, quote);
    const text = isQuoted ? first + quote.length : cell;
    const { stop, pairs, pending } = isQuoted
      ? closingQuote(bytes, text, end, quote, marks)
      : { stop: delimiterFrom(text), pairs: 0, pending: end };
    const behind = delimiterFrom(stop);
    isFirst = behind < end && isLineEnd(bytes[behind]!);
    const next = Math.min(end, behind + (isFirst ? 1 : delimiter.length));
    keep(cell, text);
    const kept = to;
    const rest = stop === end ? restOf(bytes, text, pending) : stop;
    // Leave a mistake for the code that reads the record.
    const isMistaken = !isQuoted && !dialect.lenient && quote !== null && bytes.subarray(text, stop).includes(quote);
    if (isMistaken) {
      keep(text, next);
    } else if (rest - text - pairs > cellBytesMax || (bytes[text] === 0 && rest > text)) {
      requireUtf8(bytes, text, rest);
      bytes[to] = 0;
      to += 1;
      keep(rest, next);
    } else {
      keep(text, next);
    }
    if (stop === end) return { end: to, open: isMistaken ? 0 : to - kept };
    cell = next;
  }
  return { end: to, open: 0 };
}

function lineEndFrom(bytes: Buffer, from: number, end: number): number {
  let at = from;
  while (at < end && !isLineEnd(bytes[at]!)) at += 1;
  return at;
}

interface Closing {
  readonly stop: number;
  /** How many bytes of the text only precede another mark. */
  readonly pairs: number;
  /** Start of an incomplete mark at the end; the end if there is none. */
  readonly pending: number;
}

/** The index of the closing quote of a cell; `end` if it may still come. */
function closingQuote(bytes: Buffer, text: number, end: number, quote: Uint8Array, { escape }: DialectBytes): Closing {
  let pairs = 0;
  for (let at = text; at < end;) {
    const isEscape = escape !== null && isAt(bytes, at, end, escape);
    if (!isEscape && !isAt(bytes, at, end, quote)) {
      at += 1;
      continue;
    }
    const mark = isEscape ? escape : quote;
    const next = at + mark.length;
    // The second mark may not have arrived completely.
    if (!isDecided(bytes, next, end)) return { stop: end, pairs, pending: at };
    const pair = isAt(bytes, next, end, quote) ? quote : isEscape && isAt(bytes, next, end, escape) ? escape : null;
    if (pair === null && !isEscape) return { stop: at, pairs, pending: end };
    if (pair !== null) pairs += mark.length;
    at = next + (pair?.length ?? 0);
  }
  return { stop: end, pairs, pending: end };
}

/** Whether a whole character has arrived. */
function isDecided(bytes: Buffer, at: number, end: number): boolean {
  const byte = bytes[at]!;
  const length = byte < 0xc0 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
  return at + length <= end;
}

/**
 * Start of an incomplete suffix of an open text: a mark, or a part of a character. A whole character before it may be
 * one of a pair of quotes.
 */
function restOf(bytes: Buffer, text: number, pending: number): number {
  let last = pending - 1;
  while (last > text && pending - last < partBytesMax && (bytes[last]! & 0xc0) === 0x80) last -= 1;
  return last < text || isDecided(bytes, last, pending) ? pending : last;
}
