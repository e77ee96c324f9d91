/** The unread bytes of a file, with line numbers. */
import { isUtf8 } from 'node:buffer';
import { MalformedFile } from './malformed-file.ts';

const lineFeed = 10;

/**
 * Bytes from `position` to `end` of a buffer are unread, and `bytes[end]` is 0, as JsonScanner requires. Positions are indexes into
 * `bytes`; `append` may shift them all.
 */
export class UnreadBytes {
  bytes = Buffer.alloc(1);
  end = 0;
  position = 0;
  /** The number of the line that contains `#lineAt`. */
  #line = 1;
  #lineAt = 0;
  /** The first line feed at or behind `#lineAt`; `end` if it has not arrived yet. */
  #nextLineFeed = 0;

  append(piece: Uint8Array): void {
    if (this.end + piece.length >= this.bytes.length) this.#makeRoom(piece.length);
    const { end } = this;
    this.bytes.set(piece, end);
    this.end += piece.length;
    this.bytes[this.end] = 0;
    // If none was found before, the search continues in the new bytes.
    if (this.#nextLineFeed === end) this.#nextLineFeed = this.#findLineFeed(end);
  }

  /** The number of the line that contains a byte, from 1. Positions must not decrease between calls. */
  lineOf(position: number): number {
    while (this.#nextLineFeed < position) {
      this.#line += 1;
      this.#lineAt = this.#nextLineFeed + 1;
      this.#nextLineFeed = this.#findLineFeed(this.#lineAt);
    }
    return this.#line;
  }

  /** Throws unless these bytes are UTF-8. They must not begin or end within a character. */
  requireUtf8(start: number, end: number): void {
    const bytes = this.bytes.subarray(start, end);
    if (isUtf8(bytes)) return;
    for (let line = start; line < end;) {
      const found = this.bytes.subarray(line, end).indexOf(lineFeed);
      const next = found === -1 ? end : line + found + 1;
      if (!isUtf8(this.bytes.subarray(line, next))) throw new MalformedFile(this.lineOf(line), 'the text is not UTF-8', 'utf-8');
      line = next;
    }
  }

  #findLineFeed(from: number): number {
    const found = this.bytes.subarray(from, this.end).indexOf(lineFeed);
    return found === -1 ? this.end : from + found;
  }

  /** Moves unread bytes to the front of a buffer with room for twice as many, so that no byte is moved often. */
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
    this.#nextLineFeed -= position;
  }
}
