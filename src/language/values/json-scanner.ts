/**
 * Validates JSON bytes without building values. It accepts what RFC 8259 and `JSON.parse` accept, except what the
 * service never stores (docs/spec/decisions.md 2): U+0000, lone surrogates, numbers that are not finite, deep nesting.
 *
 * It does not check that the bytes are UTF-8: `isUtf8` does that for whole regions, much faster.
 */
import type { MalformedBodyType } from './malformed-body.ts';

export const blank = 0x20;
export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const backslash = 0x5c;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
const minus = 0x2d;
const plus = 0x2b;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
export const lowerN = 0x6e;
const lowerE = 0x65;
export const lowerU = 0x75;

/** Levels of arrays and objects within one value. */
const nestingMax = 32;
/** A number with fewer bytes and no exponent is always finite. */
const surelyFiniteBytes = 300;

/** 1 for each byte that needs no escape within a string: all but controls, the quote and the backslash. */
export const plain = new Uint8Array(256).fill(1).fill(0, 0, 0x20);
plain[quote] = 0;
plain[backslash] = 0;

/** Bytes that may follow a backslash, except `u`. */
const simpleEscapes = new Uint8Array(256);
for (const character of '"\\/bfnrt') simpleEscapes[character.charCodeAt(0)] = 1;

const loneSurrogate = 'a lone surrogate cannot be stored';

const trueBytes = Buffer.from('true');
const falseBytes = Buffer.from('false');
const nullBytes = Buffer.from('null');

/** The text is valid so far, but incomplete. */
export class UnfinishedText extends Error {
  override readonly name = 'UnfinishedText';
}

/**
 * The text is refused. `position` is an index into the buffer, between two characters: that of the last byte examined,
 * or the one after it. It depends only on the text, not on how much has arrived.
 */
export class RefusedText extends Error {
  override readonly name = 'RefusedText';
  readonly position: number;
  readonly type: MalformedBodyType;

  constructor(position: number, reason: string, type: MalformedBodyType = 'request_validation_error') {
    super(reason);
    this.position = position;
    this.type = type;
  }
}

/** `Buffer#toString` calls this internally. Calling it directly reads short strings twice as fast. */
type SlicedBuffer = Buffer & { utf8Slice(start: number, end: number): string };

/**
 * A buffer of JSON text that is filled up to `end`. `bytes[end]` must be 0: no JSON text contains that byte, so every
 * loop stops there without checking `end`. The methods take the index of the first byte of a token and return the index
 * after it. They throw UnfinishedText if the text stops too early, and RefusedText.
 */
export class JsonScanner {
  bytes = Buffer.alloc(1);
  end = 0;
  /** Set when a line feed, carriage return or tab was skipped. */
  sawBreak = false;
  /** Whether U+0000 and lone surrogates are skipped and noted in `sawIllFormed` instead of refused. */
  passesIllFormed = false;
  sawIllFormed = false;
  /** The index of the opening quote of the string that is being read; -1 outside of strings. */
  openString = -1;

  /** Refuses the byte at `position`. */
  unexpected(position: number): never {
    if (position >= this.end) throw new UnfinishedText();
    const byte = this.bytes[position]!;
    const isVisible = byte > blank && byte < 0x7f;
    const shown = isVisible ? JSON.stringify(String.fromCharCode(byte)) : `byte 0x${byte.toString(16)}`;
    throw new RefusedText(position, `broken JSON, unexpected ${shown}`);
  }

  space(position: number): number {
    const bytes = this.bytes;
    for (; ; position += 1) {
      const byte = bytes[position]!;
      if (byte === 0x0a || byte === 0x0d || byte === 0x09) this.sawBreak = true;
      else if (byte !== blank) return position;
    }
  }

  value(position: number, level = 1): number {
    const byte = this.bytes[position]!;
    if (byte === quote) return this.string(position);
    if (byte === minus || (byte >= zero && byte <= nine)) return this.number(position);
    if (byte === openBrace) return this.object(position, level);
    if (byte === openBracket) return this.array(position, level);
    return this.literal(position);
  }

  string(position: number): number {
    const bytes = this.bytes;
    this.openString = position;
    for (;;) {
      do position += 1;
      while (plain[bytes[position]!] === 1);
      const byte = bytes[position]!;
      if (byte === quote) {
        this.openString = -1;
        return position + 1;
      }
      if (byte !== backslash) this.unexpected(position);
      position = this.#escape(position);
    }
  }

  /** Returns the index of the last byte of the escape. */
  #escape(position: number): number {
    const byte = this.bytes[position + 1]!;
    if (simpleEscapes[byte] === 1) return position + 1;
    if (byte !== lowerU) this.unexpected(position + 1);
    const unit = this.#hexadecimal(position + 2);
    const last = position + 5;
    if (unit === 0) return this.#illFormed(last, last, 'U+0000 cannot be stored');
    if (unit < 0xd800 || unit > 0xdfff) return last;
    if (unit >= 0xdc00) return this.#illFormed(last, last, loneSurrogate);
    if (this.bytes[last + 1] !== backslash) return this.#illFormed(last, last + 1, loneSurrogate);
    if (this.bytes[last + 2] !== lowerU) return this.#illFormed(last, last + 2, loneSurrogate);
    const low = this.#hexadecimal(last + 3);
    if (low < 0xdc00 || low > 0xdfff) return this.#illFormed(last, last + 6, loneSurrogate);
    return last + 6;
  }

  /**
   * Refuses or skips the escape that ends at `last`. `position`: where it became certain that the escape is ill-formed.
   */
  #illFormed(last: number, position: number, reason: string): number {
    if (position >= this.end) throw new UnfinishedText();
    if (!this.passesIllFormed) throw new RefusedText(position, reason);
    this.sawIllFormed = true;
    return last;
  }

  #hexadecimal(position: number): number {
    let unit = 0;
    for (let index = position; index < position + 4; index += 1) {
      const byte = this.bytes[index]!;
      const letter = byte | 0x20;
      if (byte >= zero && byte <= nine) unit = unit * 16 + byte - zero;
      else if (letter >= 0x61 && letter <= 0x66) unit = unit * 16 + letter - 0x57;
      else this.unexpected(index);
    }
    return unit;
  }

  number(position: number): number {
    const bytes = this.bytes;
    const start = position;
    let exponent = false;
    if (bytes[position] === minus) position += 1;
    if (bytes[position] === zero) position += 1;
    else position = this.#digits(position);
    if (bytes[position] === point) position = this.#digits(position + 1);
    if ((bytes[position]! | 0x20) === lowerE) {
      exponent = true;
      position += 1;
      if (bytes[position] === plus || bytes[position] === minus) position += 1;
      position = this.#digits(position);
    }
    if ((exponent || position - start > surelyFiniteBytes) && position < this.end) this.#checkFinite(start, position);
    return position;
  }

  #digits(position: number): number {
    const bytes = this.bytes;
    const start = position;
    let byte = bytes[position]!;
    while (byte >= zero && byte <= nine) byte = bytes[++position]!;
    if (position === start) this.unexpected(position);
    return position;
  }

  #checkFinite(start: number, end: number): void {
    if (!Number.isFinite(Number(this.text(start, end)))) {
      throw new RefusedText(end, 'the number is too large to be stored');
    }
  }

  literal(position: number): number {
    const byte = this.bytes[position];
    const expected = byte === trueBytes[0] ? trueBytes : byte === falseBytes[0] ? falseBytes : nullBytes;
    for (let index = 0; index < expected.length; index += 1) {
      if (this.bytes[position + index] !== expected[index]) this.unexpected(position + index);
    }
    return position + expected.length;
  }

  array(position: number, level: number): number {
    const bytes = this.bytes;
    if (level > nestingMax) throw new RefusedText(position, `nested deeper than ${nestingMax} levels`);
    position = this.space(position + 1);
    if (bytes[position] === closeBracket) return position + 1;
    for (;;) {
      position = this.space(this.value(position, level + 1));
      if (bytes[position] === closeBracket) return position + 1;
      if (bytes[position] !== comma) this.unexpected(position);
      position = this.space(position + 1);
    }
  }

  object(position: number, level: number): number {
    const bytes = this.bytes;
    if (level > nestingMax) throw new RefusedText(position, `nested deeper than ${nestingMax} levels`);
    position = this.space(position + 1);
    if (bytes[position] === closeBrace) return position + 1;
    for (;;) {
      position = this.space(this.value(this.afterKey(position), level + 1));
      if (bytes[position] === closeBrace) return position + 1;
      if (bytes[position] !== comma) this.unexpected(position);
      position = this.space(position + 1);
    }
  }

  /** Reads a key and its colon. Returns the index of the value. */
  afterKey(position: number): number {
    if (this.bytes[position] !== quote) this.unexpected(position);
    position = this.space(this.string(position));
    if (this.bytes[position] !== colon) this.unexpected(position);
    return this.space(position + 1);
  }

  /** Decodes bytes that are valid UTF-8. */
  text(start: number, end: number): string {
    return (this.bytes as SlicedBuffer).utf8Slice(start, end);
  }

  /** Decodes a string token (with its quotes). */
  decode(start: number, end: number): string {
    const text = this.text(start + 1, end - 1);
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  }
}

const byteOrderMark = [0xef, 0xbb, 0xbf] as const;

/** The index of the first byte of the text, after a byte order mark if there is one. */
export function skipByteOrderMark(scanner: JsonScanner): number {
  if (scanner.bytes[0] !== byteOrderMark[0]) return 0;
  byteOrderMark.forEach((byte, position) => {
    if (scanner.bytes[position] !== byte) scanner.unexpected(position);
  });
  return byteOrderMark.length;
}
