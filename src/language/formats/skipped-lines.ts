const lineFeed = 10;
const carriageReturn = 13;

/** Skips lines at the beginning of a text, whatever they contain and in whatever pieces the bytes arrive. */
export class SkippedLines {
  #left: number;
  /** Whether the last byte was a carriage return. A line feed after it belongs to the same line end. */
  #sawReturn = false;

  constructor(lines: number) {
    this.#left = lines;
  }

  /** How many of the next bytes belong to these lines. */
  skip(bytes: Uint8Array): number {
    let at = 0;
    while (at < bytes.length && (this.#left > 0 || this.#sawReturn)) {
      const byte = bytes[at]!;
      if (this.#sawReturn) {
        this.#sawReturn = false;
        if (byte === lineFeed) at += 1;
        continue;
      }
      if (byte === lineFeed || byte === carriageReturn) this.#left -= 1;
      this.#sawReturn = byte === carriageReturn;
      at += 1;
    }
    return at;
  }
}
