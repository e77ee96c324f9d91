/** Takes cells of CSV and TSV out of a buffer that are longer than a cell may be, so that a row of them needs little room. */
import type { Delimiter } from './delimited-records.ts';
import { requireUtf8 } from './malformed-body.ts';

const quoteMark = 0x22;
const lineFeed = 0x0a;
/** The longest part of a character that may still lack its end. */
const partBytesMax = 3;

/**
 * U+0000 takes the place of the text of a long cell, or of what has come of it where the bytes end within the cell. Of such a cell a rest is
 * taken out too that came later.
 * @param start where a record begins
 * @returns where the bytes end now, and how many of them are of a cell in which they end
 */
export function shortenCells(bytes: Buffer, start: number, end: number, delimiter: Delimiter, cellBytesMax: number): { readonly end: number; readonly open: number } {
  const separator = delimiter.charCodeAt(0);
  const separatorFrom = (from: number): number => {
    let at = from;
    while (at < end && bytes[at] !== separator && bytes[at] !== lineFeed) at += 1;
    return at;
  };
  let to = start;
  const keep = (from: number, until: number): void => {
    bytes.copy(bytes, to, from, until);
    to += until - from;
  };
  for (let cell = start; cell < end;) {
    const isQuoted = bytes[cell] === quoteMark;
    const text = isQuoted ? cell + 1 : cell;
    const { stop, pairs } = isQuoted ? closingQuote(bytes, text, end) : { stop: separatorFrom(text), pairs: 0 };
    const next = Math.min(end, separatorFrom(stop) + 1);
    keep(cell, text);
    const kept = to;
    if (stop - text - pairs > cellBytesMax || (bytes[text] === 0 && stop > text)) {
      const rest = stop === end ? restOf(bytes, text, end, isQuoted) : stop;
      requireUtf8(bytes, text, rest);
      bytes[to] = 0;
      to += 1;
      keep(rest, next);
    } else {
      keep(text, next);
    }
    if (stop === end) return { end: to, open: to - kept };
    cell = next;
  }
  return { end: to, open: 0 };
}

/** The index of the quote that closes a cell; `end` if that may still come. `pairs`: how many quotes the text has, each of which is written twice. */
function closingQuote(bytes: Buffer, text: number, end: number): { readonly stop: number; readonly pairs: number } {
  let pairs = 0;
  for (let at = text; at < end; at += 1) {
    if (bytes[at] !== quoteMark) continue;
    if (at + 1 === end) break;
    if (bytes[at + 1] !== quoteMark) return { stop: at, pairs };
    at += 1;
    pairs += 1;
  }
  return { stop: end, pairs };
}

/** Where the part of an open text begins that means nothing without what follows: a quote that has no pair yet, or a part of a character. */
function restOf(bytes: Buffer, text: number, end: number, isQuoted: boolean): number {
  let rest = end;
  if (isQuoted) while (rest > text && bytes[rest - 1] === quoteMark) rest -= 1;
  if (rest < end) return end - ((end - rest) % 2);
  while (rest > text && end - rest < partBytesMax && bytes[rest - 1]! >= 0x80) rest -= 1;
  while ((bytes[rest]! & 0xc0) === 0x80 && rest < end) rest += 1;
  return rest;
}
