/**
 * The order of a stash's chunks (docs/spec/decisions.md 3 and 6). If all serials are integers, chunks are ordered by
 * number, and ties by code point. Otherwise all are ordered by code point.
 */

const digits = /^0*([0-9]*)$/;

/** A string whose order by code point is the numeric order of the serial; null if the serial is no integer. */
export function numericOrderOf(serial: string): string | null {
  const match = digits.exec(serial);
  // A serial has at most 256 characters, so three digits hold the length.
  return match === null ? null : `${String(match[1]!.length).padStart(3, '0')}${match[1]!}`;
}

/** Compares serials; `asNumbers`: whether all serials of the stash are integers. */
export function compareSerials(a: string, b: string, asNumbers: boolean): number {
  return (asNumbers ? compare(numericOrderOf(a)!, numericOrderOf(b)!) : 0) || compare(a, b);
}

/** Serials are ASCII, so code units sort as code points. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
