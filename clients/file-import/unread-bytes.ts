/** A buffer for the unread bytes of a file, with line numbers. */
import { isUtf8 } from 'node:buffer';
import { MalformedFile } from './malformed-file.ts';

const lineFeed = 10;
const carriageReturn = 13;

/**
 * The bytes from `position` to `end` of the buffer are unread, and `bytes[end]` is 0, as JsonScanner requires.
 * Positions are indexes into `bytes`. `append` may shift them all.
 */
export class UnreadBytes {
  bytes = Buffer.alloc(1);
  end = 0;
  position = 0;
  /** The number of the line that contains `#lineAt`. */
  #line: number;
  #lineAt = 0;
  /** Whether there was a carriage return. Without one, line feeds are found faster. */
  #hasReturns = false;
  /** Whether a carriage return precedes `#lineAt`: a line feed there belongs to the same line end. */
  #sawReturn = false;

  /** The number of the first line. */
  constructor(line = 1) {
    this.#line = line;
  }

  append(piece: Uint8Array): void {
    if (this.end + piece.length >= this.bytes.length) this.#makeRoom(piece.length);
    this.#hasReturns ||= piece.includes(carriageReturn);
    this.bytes.set(piece, this.end);
    this.end += piece.length;
    this.bytes[this.end] = 0;
  }

  /**
   * The number of the line that contains a byte. A line ends with a line feed, a carriage return, or both. Positions
   * must not decrease between calls.
   */
  lineOf(position: number): number {
    if (this.#hasReturns) this.#countLineEnds(position);
    else this.#countLineFeeds(position);
    this.#lineAt = Math.max(this.#lineAt, position);
    return this.#line;
  }

  #countLineFeeds(position: number): void {
    const bytes = this.bytes.subarray(0, position);
    for (let at = bytes.indexOf(lineFeed, this.#lineAt); at !== -1; at = bytes.indexOf(lineFeed, at + 1))
      this.#line += 1;
  }

  #countLineEnds(position: number): void {
    const { bytes } = this;
    let line = this.#line;
    let sawReturn = this.#sawReturn;
    for (let at = this.#lineAt; at < position; at += 1) {
      const byte = bytes[at]!;
      if (byte === carriageReturn || (byte === lineFeed && !sawReturn)) line += 1;
      sawReturn = byte === carriageReturn;
    }
    this.#line = line;
    this.#sawReturn = sawReturn;
  }

  /** Throws MalformedFile unless these bytes are UTF-8. They must not begin or end within a character. */
  requireUtf8(start: number, end: number): void {
    const bytes = this.bytes.subarray(start, end);
    if (isUtf8(bytes)) return;
    for (let line = start; line < end;) {
      const found = this.bytes.subarray(line, end).indexOf(lineFeed);
      const next = found === -1 ? end : line + found + 1;
      if (!isUtf8(this.bytes.subarray(line, next)))
        throw new MalformedFile(this.lineOf(line), 'the text is not UTF-8', 'utf-8');
      line = next;
    }
  }

  /**
   * Moves the unread bytes to the front of a buffer with room for twice as many, so that each byte is moved only a few
   * times.
   */
  #makeRoom(bytes: number): void {
    this.lineOf(this.position);
    const { position, end } = this;
    const unread = end - position;
    const needed = 2 * unread + bytes + 1;
    const target = needed <= this.bytes.length ? this.bytes : Buffer.allocUnsafeSlow(needed);
    this.bytes.copy(target, 0, position, end);
    this.bytes = target;
    this.end = unread;
    this.position = 0;
    this.#lineAt = 0;
  }
}
