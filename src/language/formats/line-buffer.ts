import { isUtf8 } from 'node:buffer';

const lineFeed = 10;
const carriageReturn = 13;
/** Ctrl-Z, which ended texts in CP/M and DOS. */
const endOfFile = 0x1a;
const byteOrderMark = Buffer.from('\ufeff');

/**
 * The unread bytes of a text, by lines: a line ends with a line feed, a carriage return, or both. Positions are indexes
 * into `bytes`; `append` may shift them all.
 */
export class LineBuffer {
  bytes = Buffer.alloc(0);
  end = 0;
  /** Bytes before this index have been read. */
  position = 0;
  /** The index behind the last line end. */
  linesEnd = 0;
  #sawBeginning = false;

  /** The unread bytes before an index. */
  unread(end = this.end): Buffer {
    return this.bytes.subarray(this.position, end);
  }

  append(slice: Uint8Array): void {
    if (this.end + slice.length > this.bytes.length) this.#makeRoom(slice.length);
    const openReturn = this.end > this.position && this.bytes[this.end - 1] === carriageReturn && slice[0] !== lineFeed;
    this.bytes.set(slice, this.end);
    const lineEnd = lastLineEnd(slice);
    if (lineEnd !== -1) this.linesEnd = this.end + lineEnd + 1;
    else if (openReturn) this.linesEnd = this.end;
    this.end += slice.length;
    if (this.end >= byteOrderMark.length) this.skipByteOrderMark();
  }

  /** Call it before anything is read: by then a byte order mark is either complete or absent. */
  skipByteOrderMark(): void {
    if (this.#sawBeginning) return;
    this.#sawBeginning = true;
    const beginning = this.bytes.subarray(0, Math.min(this.end, byteOrderMark.length));
    if (beginning.equals(byteOrderMark)) this.position = byteOrderMark.length;
  }

  /** Call it after bytes were removed from the unread ones. `end`: the new end of the unread bytes. */
  shortenTo(end: number): void {
    this.end = end;
    this.linesEnd = this.position + lastLineEnd(this.unread()) + 1;
  }

  /** Drops each Ctrl-Z at the end. Returns whether there was one. */
  endAtMark(): boolean {
    const { end } = this;
    while (this.end > this.position && this.bytes[this.end - 1] === endOfFile) this.end -= 1;
    return this.end < end;
  }

  /** The index behind the line that begins at `start`. */
  nextLine(start: number, end: number): number {
    let at = start;
    while (at < end && this.bytes[at] !== lineFeed && this.bytes[at] !== carriageReturn) at += 1;
    if (this.bytes[at] === carriageReturn && at + 1 < end && this.bytes[at + 1] === lineFeed) at += 1;
    return Math.min(end, at + 1);
  }

  /** The start of the first unread line that is not UTF-8; null if all lines are. No character spans a line end. */
  invalidLine(end: number): number | null {
    if (isUtf8(this.unread(end))) return null;
    for (let start = this.position; ;) {
      const next = this.nextLine(start, end);
      if (!isUtf8(this.bytes.subarray(start, next))) return start;
      start = next;
    }
  }

  /** Moves unread bytes to the front of a buffer with room for twice as many, so that no byte is moved often. */
  #makeRoom(bytes: number): void {
    const unread = this.end - this.position;
    const needed = 2 * unread + bytes;
    const target = needed <= this.bytes.length ? this.bytes : Buffer.allocUnsafeSlow(needed);
    this.bytes.copy(target, 0, this.position, this.end);
    this.bytes = target;
    this.linesEnd = Math.max(0, this.linesEnd - this.position);
    this.end = unread;
    this.position = 0;
  }
}

export function withoutLineEnd(line: Buffer): Buffer {
  let { length } = line;
  if (line[length - 1] === lineFeed) length -= 1;
  if (line[length - 1] === carriageReturn) length -= 1;
  return line.subarray(0, length);
}

/**
 * The index of the last byte of the last line end; -1 if there is none. A carriage return at the very end does not
 * count, because a line feed may follow.
 */
function lastLineEnd(bytes: Uint8Array): number {
  const feed = bytes.lastIndexOf(lineFeed);
  const found = bytes.subarray(feed + 1, -1).lastIndexOf(carriageReturn);
  return found === -1 ? feed : feed + 1 + found;
}
