/**
 * Rows as the JSON text of an answer, in UTF-8. The text is written piece by piece into one buffer. A string would be
 * joined, flattened and encoded, each time into another large object.
 */
import { writeRowIdSuffix } from '../../src/language/events/row-id.ts';

const comma = 0x2c;
const closeBrace = 0x7d;
const quote = 0x22;

/** The rows of a page, as the text of an answer. */
export interface RowsText {
  readonly count: number;
  /**
   * Adds a row.
   * @param prefix of the row's ID, see `rowIdPrefix`
   * @param body the row as JSON text, an object
   */
  add(prefix: string, index: number, body: string): void;
  /** Adds a row that retains its ID through an overwrite. */
  addRetained(id: string, body: string): void;
  /** The page. `continuation` has only letters, digits, `-` and `_`; null on the last page. */
  page(continuation: string | null): Buffer;
}

/** Room for the text before the rows. */
const room = 64;
/** A UTF-16 code unit takes at most this many bytes in UTF-8. */
const bytesOfUnitMax = 3;
/** Bytes around a body: the ID with its key, quotes, comma, and the comma between rows. */
const bytesAround = 48;

export class RowsJson implements RowsText {
  #bytes: Buffer;
  #length = room;
  #count = 0;

  /**
   * @param count about how many rows there will be
   * @param bodies about how many bytes their bodies have
   */
  constructor(count: number, bodies: number) {
    this.#bytes = Buffer.allocUnsafe(room + bodies + (count + 1) * bytesAround);
  }

  get count(): number {
    return this.#count;
  }

  add(prefix: string, index: number, body: string): void {
    this.#begin(body);
    this.#length += this.#bytes.write(prefix, this.#length, 'latin1');
    this.#length = writeRowIdSuffix(this.#bytes, this.#length, index);
    this.#end(body);
  }

  addRetained(id: string, body: string): void {
    this.#begin(body);
    this.#length += this.#bytes.write(id, this.#length, 'latin1');
    this.#end(body);
  }

  /** Allocates memory for the whole row, and writes what comes before its ID. */
  #begin(body: string): void {
    if (this.#length + bytesAround + body.length * bytesOfUnitMax > this.#bytes.length) {
      this.#reserve(bytesAround + Buffer.byteLength(body));
    }
    const bytes = this.#bytes;
    let at = this.#length;
    if (this.#count > 0) bytes[at++] = comma;
    this.#length = at + bytes.write('{"$rowID":"', at, 'latin1');
  }

  /** Writes what comes after the row's ID. */
  #end(body: string): void {
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at++] = quote;
    if (body.length === 2) bytes[at++] = closeBrace;
    else {
      const start = at;
      at += bytes.write(body, at);
      bytes[start] = comma;
    }
    this.#length = at;
    this.#count += 1;
  }

  page(continuation: string | null): Buffer {
    return this.enclose('{"data":[', continuation === null ? ']}' : `],"continuation":"${continuation}"}`);
  }

  /** The rows, joined by commas, between two ASCII texts. The first text has at most 64 characters. */
  enclose(before: string, after: string): Buffer {
    this.#reserve(after.length);
    const start = room - before.length;
    this.#bytes.write(before, start, 'latin1');
    this.#length += this.#bytes.write(after, this.#length, 'latin1');
    return this.#bytes.subarray(start, this.#length);
  }

  #reserve(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
