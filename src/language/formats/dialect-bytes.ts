/** The marks of a dialect in UTF-8. */
import { blanksMax, type Dialect } from './dialect.ts';

export interface DialectBytes {
  readonly delimiter: Buffer;
  readonly quote: Buffer | null;
  readonly escape: Buffer | null;
  readonly comment: Buffer | null;
}

export function bytesOfDialect({ delimiter, quote, escape, comment }: Dialect): DialectBytes {
  const bytesOf = (mark: string | null): Buffer | null => (mark === null ? null : Buffer.from(mark));
  return {
    delimiter: Buffer.from(delimiter),
    quote: bytesOf(quote),
    escape: bytesOf(escape),
    comment: bytesOf(comment),
  };
}

/** Whether the whole mark is at this place. */
export function isAt(bytes: Uint8Array, at: number, end: number, mark: Uint8Array): boolean {
  if (bytes[at] !== mark[0] || at + mark.length > end) return false;
  for (let index = 1; index < mark.length; index += 1) if (bytes[at + index] !== mark[index]) return false;
  return true;
}

export function isLineEnd(byte: number): boolean {
  return byte === 0x0a || byte === 0x0d;
}

/**
 * The place where a quote that begins a cell would be: after at most `blanksMax` blanks and tabs that are not the
 * delimiter.
 */
export function behindBlanks(bytes: Uint8Array, from: number, end: number, delimiter: Uint8Array): number {
  const last = Math.min(end, from + blanksMax);
  let at = from;
  while (at < last && (bytes[at] === 0x20 || bytes[at] === 0x09) && bytes[at] !== delimiter[0]) at += 1;
  return at;
}
