/**
 * Scans row objects one after the other and locates their values. Rows of one body are much alike, so each column
 * remembers the bytes before its value and the column that followed it. In the common case a key is compared, not
 * parsed.
 */
import {
  JsonScanner,
  RefusedText,
  UnfinishedText,
  backslash,
  blank,
  closeBrace,
  colon,
  comma,
  lowerN,
  lowerU,
  openBrace,
  plain,
  quote,
} from '../values/json-scanner.ts';
import { requireUtf8 } from '../values/malformed-body.ts';
import { RowColumn } from './row-column.ts';
import { rowIdKey } from './row-id-key.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';

export { rowIdKey } from './row-id-key.ts';

/** Longer leads (much white space, long keys) are not remembered. */
const leadBytesMax = 600;
/** Replaces a text, or the arrived part of a text, that is longer than a cell may be. The cell is then ill-formed. */
const zero = Buffer.from('\\u0000');
/** Maximum of bytes of the rest of a shortened text. */
const restBytesMax = 1024;

/** How many columns a row may skip before the next key is looked up by name. */
const skippedMax = 4;

/**
 * The places of a row's values in `bytes`. Only the first `count` entries are valid. An end of -1: the scan did not
 * reach it.
 */
export interface ScannedRow {
  bytes: Buffer;
  start: number;
  end: number;
  count: number;
  readonly columns: RowColumn[];
  readonly starts: number[];
  readonly ends: number[];
  /** Whether the row's text can serve as its body: columns in order, no line breaks or tabs, no null, no `$rowID`. */
  clean: boolean;
  /** How many other cells were dropped, because no row may hold them. */
  dropped: number;
  /** The start of the first value that is longer than a cell may be; -1 if there is none. */
  longCell: number;
}

interface RowScannerOptions {
  /** Whether bodies keep nulls. */
  readonly keepsNulls?: boolean;
  /**
   * Whether a cell that no row may hold is dropped: one with ill-formed text, or one that is too long. Otherwise it is
   * refused.
   */
  readonly dropsCells?: boolean;
}

export class RowScanner extends JsonScanner {
  /** The last scanned row. After an exception, its scanned part. */
  readonly row: ScannedRow;
  readonly #limits: RowReaderLimits;
  readonly #byId = new Map<string, RowColumn>();
  readonly #beforeFirst = new RowColumn('', -1);
  #indexNext = 0;
  #metCount = 0;
  #attempt = 0;
  #valueStart = 0;
  /** Whether an unfinished text of this row was shortened. Its further bytes are then removed from the buffer too. */
  #hasCut = false;

  /** Whether bodies keep the nulls of the next row. */
  keepsNulls: boolean;
  readonly dropsCells: boolean;
  /** A text of this many bytes is removed from the buffer. */
  readonly #longText: number;

  /** `columns` are IDs whose order is already fixed: they come first in bodies. */
  constructor(
    columns: readonly string[],
    limits: RowReaderLimits,
    { keepsNulls = false, dropsCells = false }: RowScannerOptions = {},
  ) {
    super();
    this.keepsNulls = keepsNulls;
    this.dropsCells = dropsCells;
    this.#longText = dropsCells ? limits.cellBytes : Infinity;
    this.#limits = limits;
    this.row = {
      bytes: this.bytes,
      start: 0,
      end: 0,
      count: 0,
      columns: [],
      starts: [],
      ends: [],
      clean: true,
      dropped: 0,
      longCell: -1,
    };
    this.#byId.set(rowIdKey, new RowColumn(rowIdKey, -1));
    for (const id of columns) this.#byId.set(id, new RowColumn(id, this.#indexNext++));
  }

  /**
   * Reads the row whose opening brace is at `start` into `row`. Returns the index after its closing brace.
   * @throws UnfinishedText, RefusedText
   */
  scanRow(start: number): number {
    const { rowBytes, cellBytes } = this.#limits;
    let end: number;
    this.passesIllFormed = this.dropsCells;
    try {
      end = this.#scan(start);
    } catch (error) {
      const open = error instanceof UnfinishedText ? this.#shortenOpenText() : 0;
      // An error beyond the limit does not count, because text is not checked there.
      const reached = error instanceof RefusedText ? error.position : this.end - open;
      if (reached - start > rowBytes) this.#refuseLongRow(start);
      throw error;
    }
    this.passesIllFormed = false;
    this.#hasCut = false;
    if (end - start > rowBytes) this.#refuseLongRow(start);
    this.row.longCell = end - start > cellBytes ? this.#findLongCell() : -1;
    this.row.end = end;
    return end;
  }

  #scan(start: number): number {
    const { bytes, row } = this;
    const { columns, starts, ends } = row;
    const attempt = (this.#attempt += 1);
    row.bytes = bytes;
    row.start = start;
    row.count = 0;
    row.dropped = 0;
    this.sawBreak = false;
    this.sawIllFormed = false;
    if (bytes[start] !== openBrace) throw new RefusedText(start, 'a row must be an object');
    let position = this.space(start + 1);
    let clean = true;
    if (bytes[position] !== closeBrace) {
      let previous = this.#beforeFirst;
      let lastIndex = -1;
      position = start;
      for (let count = 0; ; count += 1) {
        // At the opening brace or a comma.
        let column = previous.next;
        position += 1;
        if (column !== null) {
          const { lead } = column;
          let length = 0;
          while (length < lead.length && bytes[position + length] === lead[length]) length += 1;
          if (length === lead.length && length > 0) position += length;
          else column = null;
        }
        if (column === null) {
          column = this.#findColumn(position, previous);
          position = this.#valueStart;
        }

        if (columns[count] !== column) columns[count] = column;
        starts[count] = position;
        ends[count] = -1;
        row.count = count + 1;
        if (column.attempt === attempt) this.#refuseDuplicate(position);
        column.attempt = attempt;
        if (column.index <= lastIndex || column.leadBreaks) clean = false;
        lastIndex = column.index;
        previous = column;

        if (bytes[position] === quote) {
          do position += 1;
          while (plain[bytes[position]!] === 1);
          // Reads a string with escapes again, with full validation.
          position =
            bytes[position] === quote && position - starts[count]! < this.#longText
              ? position + 1
              : this.string(starts[count]!);
        } else {
          // After a known lead there may be more white space than when it was remembered.
          if (bytes[position]! <= blank) starts[count] = position = this.space(position);
          if (bytes[position] === lowerN && !this.keepsNulls) clean = false;
          position = this.value(position);
        }
        ends[count] = position;
        if (this.dropsCells && this.#isDropped(column, starts[count]!, position)) {
          row.count = count;
          row.dropped += 1;
          count -= 1;
          clean = false;
        }

        if (bytes[position] === comma) continue;
        position = this.space(position);
        if (bytes[position] === comma) continue;
        if (bytes[position] === closeBrace) break;
        this.unexpected(position);
      }
    }
    row.clean = clean && !this.sawBreak;
    return position + 1;
  }

  /** Finds the column whose key is at `position`, or after white space there, and sets `#valueStart`. */
  #findColumn(position: number, previous: RowColumn): RowColumn {
    let skipped = previous.next;
    for (let tries = 0; skipped !== null && tries < skippedMax; tries += 1) {
      skipped = skipped.next;
      if (skipped !== null && this.#follows(skipped.lead, position)) {
        this.#valueStart = position + skipped.lead.length;
        return skipped;
      }
    }
    const column = this.#readColumn(position);
    previous.next = column;
    return column;
  }

  #follows(lead: Uint8Array, position: number): boolean {
    const { bytes } = this;
    let length = 0;
    while (length < lead.length && bytes[position + length] === lead[length]) length += 1;
    return length === lead.length && length > 0;
  }

  #readColumn(position: number): RowColumn {
    const { bytes } = this;
    const brokeBefore = this.sawBreak;
    this.sawBreak = false;
    const keyStart = this.space(position);
    if (bytes[keyStart] !== quote) this.unexpected(keyStart);
    this.passesIllFormed = false;
    const keyEnd = this.string(keyStart);
    this.passesIllFormed = this.dropsCells;
    const column = this.#columnOf(keyStart, keyEnd);
    const colonAt = this.space(keyEnd);
    if (bytes[colonAt] !== colon) this.unexpected(colonAt);
    const valueStart = this.space(colonAt + 1);
    // A lead whose white space continues in the next chunk would be incomplete.
    if (valueStart >= this.end) this.unexpected(valueStart);
    if (valueStart - position <= leadBytesMax) {
      column.lead = Uint8Array.from(bytes.subarray(position, valueStart));
      column.leadBreaks = this.sawBreak;
    }
    this.sawBreak ||= brokeBefore;
    this.#valueStart = valueStart;
    return column;
  }

  #columnOf(keyStart: number, keyEnd: number): RowColumn {
    const { columnIdBytes, columns } = this.#limits;
    const id = this.decode(keyStart, keyEnd);
    let column = this.#byId.get(id);
    if (column === undefined) {
      if (id === '') throw new RefusedText(keyEnd, 'a column ID must not be empty');
      if (Buffer.byteLength(id) > columnIdBytes) {
        throw new RefusedText(keyEnd, `a column ID must not be longer than ${columnIdBytes} bytes`);
      }
      column = new RowColumn(id, this.#indexNext);
      this.#indexNext += 1;
      this.#byId.set(id, column);
    }
    if (!column.met) {
      column.met = true;
      if (column.index >= 0) this.#metCount += 1;
      if (this.#metCount > columns) {
        throw new RefusedText(keyEnd, `more than ${columns} different columns`, 'limit_exceeded');
      }
    }
    return column;
  }

  #refuseDuplicate(valueStart: number): never {
    const position = this.space(valueStart);
    if (position >= this.end) this.unexpected(position);
    throw new RefusedText(position, 'the key stands twice in its row');
  }

  /** Whether the cell that was just read must be dropped. The value of `$rowID` is checked where IDs are used. */
  #isDropped({ index }: RowColumn, start: number, end: number): boolean {
    const isIllFormed = this.sawIllFormed;
    this.sawIllFormed = false;
    return index >= 0 && (isIllFormed || end - start > this.#limits.cellBytes);
  }

  /**
   * If cells may be dropped, removes a text that is longer than a cell from the buffer, so that it does not count for
   * the row.
   */
  override string(start: number): number {
    const end = super.string(start);
    if (!this.passesIllFormed || !this.#isLong(start, end)) return end;
    this.sawIllFormed = true;
    this.#replace(start + 1, end - 1);
    return start + zero.length + 2;
  }

  #isLong(start: number, end: number): boolean {
    if (end - start > this.#limits.cellBytes) return true;
    return (
      this.#hasCut &&
      end - start > restBytesMax &&
      this.bytes.compare(zero, 0, zero.length, start + 1, start + 1 + zero.length) === 0
    );
  }

  /**
   * Shortens an unfinished text whose arrived part is already too long. Returns the bytes that are left of the text.
   */
  #shortenOpenText(): number {
    const {
      bytes,
      openString,
      row: { count, starts, ends },
    } = this;
    const isInValue = this.passesIllFormed && count > 0 && ends[count - 1] === -1 && openString >= starts[count - 1]!;
    if (!isInValue) return 0;
    if (this.#isLong(openString, this.end)) {
      // Cut neither an escape nor a character.
      let at = openString + 1;
      while (at < this.end - zero.length)
        at += bytes[at] !== backslash ? 1 : bytes[at + 1] === lowerU ? zero.length : 2;
      while ((bytes[at]! & 0xc0) === 0x80) at += 1;
      this.#replace(openString + 1, at);
      this.#hasCut = true;
    }
    return this.end - openString;
  }

  /** Replaces these bytes by U+0000. */
  #replace(start: number, end: number): void {
    const { bytes } = this;
    requireUtf8(bytes, start, end);
    const after = start + zero.length;
    zero.copy(bytes, start);
    bytes.copy(bytes, after, end, this.end + 1);
    this.end -= end - after;
  }

  #findLongCell(): number {
    const { count, starts, ends } = this.row;
    for (let cell = 0; cell < count; cell += 1) {
      if (ends[cell]! - starts[cell]! > this.#limits.cellBytes) return starts[cell]!;
    }
    return -1;
  }

  #refuseLongRow(start: number): never {
    this.row.count = 0;
    throw new RefusedText(start, `a row must not be longer than ${this.#limits.rowBytes} bytes`, 'limit_exceeded');
  }
}
