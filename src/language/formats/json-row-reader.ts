/** JSON and NDJSON bodies as streams of row blocks, in bounded memory. */
import { BlockWriter } from './block-writer.ts';
import type { RowBlock } from './block-writer.ts';
import { EnvelopeReader } from './envelope-reader.ts';
import type { ParseMember } from './envelope-reader.ts';
import {
  RefusedText,
  UnfinishedText,
  closeBrace,
  closeBracket,
  comma,
  openBrace,
  openBracket,
  skipByteOrderMark,
} from '../values/json-scanner.ts';
import { MalformedBody, emptyBody, requireUtf8, unfinishedBody } from '../values/malformed-body.ts';
import { defaultReaderLimits } from './row-reader-limits.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';
import { keyAt, keyPrefix, placeInRow } from './row-place.ts';
import { longCellRefusal, noRemarks, type RowReader, type RowsEnd, type RowsRefusal } from './row-reader.ts';
import { RowScanner } from './row-scanner.ts';

/** Chunks are read in slices of this many bytes, which stay in the CPU cache. */
const sliceBytes = 64 * 1024;

export interface JsonRowReaderOptions {
  /**
   * `rows`: an array of rows. `envelope`: such an array, or an object with such an array in its member `rows`. `lines`:
   * NDJSON, with each row on a line of its own.
   */
  readonly form: 'rows' | 'envelope' | 'lines';
  /** Column IDs whose order is already fixed: they come first in bodies. */
  readonly columns?: readonly string[];
  /** Whether blocks include the row IDs of their rows (`$rowID`). */
  readonly retainIds?: boolean;
  /** Whether cells that no row may hold are dropped, and all cells counted (`onSchemaError=dropColumns`). */
  readonly dropsCells?: boolean;
  /** Whether bodies keep nulls. */
  readonly keepsNulls?: boolean;
  readonly limits?: Partial<RowReaderLimits>;
  /** Parses the members around the rows. Default: JSON.parse. */
  readonly parseMember?: ParseMember;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

const parsePlainly: ParseMember = (json) => JSON.parse(json) as unknown;

/** What comes next in the body, after white space. */
type State =
  | 'beginning'
  | 'start'
  | 'firstRow'
  | 'nextRow'
  | 'row'
  | 'firstMember'
  | 'nextMember'
  | 'member'
  | 'end'
  /** The rest of the line of a row. */
  | 'lineEnd'
  /** A limit has ended the reading: nothing can be said about the bytes after it. */
  | 'cut';

/** Reads JSON and NDJSON. Buffers at most one unfinished row or member. */
export class JsonRowReader implements RowReader {
  readonly #form: JsonRowReaderOptions['form'];
  readonly #limits: RowReaderLimits;
  readonly #scanner: RowScanner;
  readonly #writer: BlockWriter;
  readonly #envelope: EnvelopeReader;
  #state: State = 'beginning';
  #rows = 0;
  /** Bytes of the scanner's buffer before this index have been read. */
  #position = 0;
  /** Below this many unread bytes a new attempt does not pay: the last one failed with half as many. */
  #unreadMin = 0;
  #blocks: RowBlock[] = [];
  #refusal: RowsRefusal | null = null;

  constructor({
    form,
    columns = [],
    retainIds = false,
    dropsCells = false,
    keepsNulls = false,
    limits = {},
    parseMember = parsePlainly,
  }: JsonRowReaderOptions) {
    this.#form = form;
    this.#limits = { ...defaultReaderLimits, ...limits };
    this.#scanner = new RowScanner(columns, this.#limits, { dropsCells, keepsNulls });
    this.#writer = new BlockWriter(this.#scanner, this.#limits, retainIds);
    this.#envelope = new EnvelopeReader(this.#scanner, this.#limits, parseMember);
  }

  get refusal(): RowsRefusal | null {
    return this.#refusal;
  }

  push(chunk: Uint8Array): RowBlock[] {
    for (let start = 0; start < chunk.length && this.#state !== 'cut'; start += sliceBytes) {
      this.#append(chunk.subarray(start, start + sliceBytes));
      if (this.#scanner.end - this.#position >= this.#unreadMin) this.#read();
    }
    return this.#takeBlocks();
  }

  end(): RowsEnd {
    if (this.#state !== 'cut') this.#read();
    if (this.#state === 'start') throw emptyBody();
    const isWhole = this.#state !== 'cut';
    if (isWhole) {
      if (!this.#isAtEnd()) throw unfinishedBody(this.#form === 'lines' ? placeInRow(this.#rows, null) : null);
      const last = this.#writer.close();
      if (last !== null) this.#blocks.push(last);
    }
    return {
      blocks: this.#takeBlocks(),
      envelope: this.#envelope.members,
      hasRows: this.#envelope.hasRows,
      remarks: noRemarks,
      isWhole,
    };
  }

  #isAtEnd(): boolean {
    return this.#form === 'lines'
      ? this.#state !== 'beginning' && this.#position === this.#scanner.end
      : this.#state === 'end';
  }

  #takeBlocks(): RowBlock[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  #append(slice: Uint8Array): void {
    const scanner = this.#scanner;
    if (scanner.end + slice.length >= scanner.bytes.length) this.#makeRoom(slice.length);
    scanner.bytes.set(slice, scanner.end);
    scanner.end += slice.length;
    scanner.bytes[scanner.end] = 0;
  }

  /**
   * Moves the unread bytes to the front of a buffer with room for twice as many, so that each byte is moved only a few
   * times.
   */
  #makeRoom(bytes: number): void {
    const scanner = this.#scanner;
    this.#writer.copyRun();
    const unread = scanner.end - this.#position;
    const needed = 2 * unread + bytes + 1;
    const target = needed <= scanner.bytes.length ? scanner.bytes : Buffer.allocUnsafeSlow(needed);
    scanner.bytes.copy(target, 0, this.#position, scanner.end);
    scanner.bytes = target;
    scanner.end = unread;
    this.#position = 0;
  }

  #read(): void {
    const from = this.#position;
    this.#unreadMin = 0;
    try {
      this.#readAll();
    } catch (error) {
      if (error instanceof UnfinishedText) {
        requireUtf8(this.#scanner.bytes, from, this.#position);
        this.#unreadMin = this.#nextAttempt();
        return;
      }
      if (!(error instanceof RefusedText)) throw error;
      requireUtf8(this.#scanner.bytes, from, error.position);
      const message = `${this.#place(error.position)}${error.message}`;
      if (error.type === 'request_validation_error' || this.#state !== 'row')
        throw new MalformedBody(error.type, message);
      this.#refusal ??= { type: error.type, message };
      this.#state = 'cut';
      return;
    }
    requireUtf8(this.#scanner.bytes, from, this.#position);
  }

  /** Reads until the buffer is empty. */
  #readAll(): void {
    const scanner = this.#scanner;
    if (this.#state === 'beginning') this.#goOn(skipByteOrderMark(scanner), 'start');
    for (;;) {
      const before = this.#position;
      const position = (this.#position = scanner.space(before));
      if (this.#state === 'lineEnd' && this.#hasLineBreak(before, position)) this.#state = 'row';
      if (position >= scanner.end) return;
      const byte = scanner.bytes[position]!;
      switch (this.#state) {
        case 'start':
          this.#readStart(position, byte);
          break;
        case 'firstRow':
        case 'nextRow':
          if (byte === closeBracket) this.#goOn(position + 1, this.#envelope.members === null ? 'end' : 'nextMember');
          else if (this.#state === 'firstRow') this.#goOn(position, 'row');
          else if (byte === comma) this.#goOn(position + 1, 'row');
          else scanner.unexpected(position);
          break;
        case 'row':
          this.#readRows();
          break;
        case 'lineEnd':
          throw new RefusedText(position, 'something follows the row in its line');
        case 'firstMember':
        case 'nextMember':
          if (byte === closeBrace) this.#goOn(position + 1, 'end');
          else if (this.#state === 'firstMember') this.#goOn(position, 'member');
          else if (byte === comma) this.#goOn(position + 1, 'member');
          else scanner.unexpected(position);
          break;
        case 'member': {
          const { end, rowsFollow } = this.#envelope.read(position);
          this.#goOn(end, rowsFollow ? 'firstRow' : 'nextMember');
          break;
        }
        default:
          scanner.unexpected(position);
      }
    }
  }

  #goOn(position: number, state: State): void {
    this.#position = position;
    this.#state = state;
  }

  #readStart(position: number, byte: number): void {
    if (this.#form === 'lines') {
      this.#goOn(position, 'row');
    } else if (byte === openBracket) {
      this.#goOn(position + 1, 'firstRow');
    } else if (byte === openBrace && this.#form === 'envelope') {
      this.#envelope.begin();
      this.#goOn(position + 1, 'firstMember');
    } else {
      const expected = this.#form === 'rows' ? 'an array of rows' : 'an object or an array of rows';
      const hint = byte === openBrace ? ': send one row as [{...}]' : '';
      throw new RefusedText(position, `the body must be ${expected}${hint}`);
    }
  }

  #hasLineBreak(start: number, end: number): boolean {
    const { bytes } = this.#scanner;
    for (let at = start; at < end; at += 1) {
      if (bytes[at] === lineFeed || bytes[at] === carriageReturn) return true;
    }
    return false;
  }

  /** Reads a row, and the rows after it that are separated only by a comma or a line feed. */
  #readRows(): void {
    const scanner = this.#scanner;
    const isLines = this.#form === 'lines';
    const separator = isLines ? lineFeed : comma;
    for (;;) {
      const end = scanner.scanRow(this.#position);
      const { longCell } = scanner.row;
      if (longCell !== -1) this.#refusal ??= longCellRefusal(this.#place(longCell), this.#limits);
      const full = this.#writer.add(scanner.row);
      if (full !== null) this.#blocks.push(full);
      this.#rows += 1;
      this.#position = end;
      if (scanner.bytes[end] !== separator || scanner.bytes[end + 1] !== openBrace) break;
      this.#position = end + 1;
    }
    this.#state = isLines ? 'lineEnd' : 'nextRow';
  }

  /** How many bytes must be unread before the next attempt. Doubling keeps the work linear in the size of the body. */
  #nextAttempt(): number {
    const unread = this.#scanner.end - this.#position;
    const bytesMax = this.#state === 'member' ? this.#limits.envelopeBytes : this.#limits.rowBytes;
    return Math.min(2 * unread, bytesMax + 1);
  }

  #place(position: number): string {
    if (this.#state === 'row') return `${placeInRow(this.#rows, keyAt(this.#scanner.row, position))}: `;
    if (this.#state === 'lineEnd') return `${placeInRow(this.#rows - 1, null)}: `;
    if (this.#state === 'member') return keyPrefix(this.#envelope.key);
    return '';
  }
}
