/**
 * Cuts JSON and NDJSON into chunks: arrays of objects of the file, each token as it was written. The first value of the
 * file tells what the file is. An array holds the rows. An object holds the rows if nothing follows it; otherwise each
 * object is a row.
 */
import {
  RefusedText,
  UnfinishedText,
  closeBrace,
  closeBracket,
  colon,
  comma,
  openBrace,
  openBracket,
  quote,
  skipByteOrderMark,
} from '../../src/language/values/json-scanner.ts';
import { defaultReaderLimits } from '../../src/language/formats/row-reader-limits.ts';
import { keyAt, keyPrefix } from '../../src/language/formats/row-place.ts';
import { RowScanner } from '../../src/language/formats/row-scanner.ts';
import { valueEndInBytes } from '../../src/language/values/json-bytes.ts';
import { ChunkBuilder, defaultChunkLimits, type Chunk, type ChunkLimits, type Cutter } from './chunk.ts';
import { MalformedFile } from './malformed-file.ts';
import { UnreadBytes } from './unread-bytes.ts';

/** What comes next in the file, after white space. */
type State =
  | 'beginning'
  | 'start'
  | 'firstRow'
  | 'row'
  | 'nextRow'
  | 'line'
  | 'lineEnd'
  | 'end'
  /** An object. Its end will show whether it is a row. */
  | 'object'
  /** Members of the object that holds the rows. */
  | 'firstMember'
  | 'member'
  | 'nextMember';

/** Maximum of bytes of a member beside the rows. */
const memberBytesMax = 16 * 1024 * 1024;

const [open, separator, close] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')];

/** Cuts JSON and NDJSON into chunks. Buffers at most one unfinished object, or one member beside the rows. */
export class JsonCutter implements Cutter {
  readonly mediaType = 'application/json';
  readonly form = {};
  readonly headerLine = null;
  readonly #form: 'json' | 'ndjson';
  readonly #refusesLongCells: boolean;
  /** The member that holds the rows; null if none was found. */
  #rowsKey: string | null = null;
  /** Whether the array of rows is a member of an object. */
  #isWithin = false;
  readonly #scanner = new RowScanner([], defaultReaderLimits);
  readonly #unread = new UnreadBytes();
  readonly #chunk: ChunkBuilder;
  #state: State = 'beginning';
  /** Below this many unread bytes a new attempt does not pay: the last one failed with half as many. */
  #unreadMin = 0;

  /**
   * `ndjson`: each object is a row, even a single one. `refusesLongCells`: whether values that are too long for a row
   * are refused.
   */
  constructor(form: 'json' | 'ndjson', limits: ChunkLimits = defaultChunkLimits, refusesLongCells = false) {
    this.#form = form;
    this.#refusesLongCells = refusesLongCells;
    this.#chunk = new ChunkBuilder(limits);
  }

  get notes(): readonly string[] {
    return this.#rowsKey === null ? [] : [`${shownKey(this.#rowsKey)}: its objects are the rows`];
  }

  push(bytes: Uint8Array): Chunk[] {
    this.#unread.append(bytes);
    const { end, position } = this.#unread;
    if (end - position >= this.#unreadMin) this.#read();
    return this.#chunk.takeFull();
  }

  end(): Chunk[] {
    this.#read();
    if (this.#state === 'object') {
      this.#state = 'start';
      this.#goIntoObject();
      this.#read();
    }
    const state = this.#state;
    const isEmpty = this.#form === 'ndjson' && (state === 'beginning' || state === 'start');
    const isWhole = state === 'end' || state === 'line' || state === 'lineEnd' || isEmpty;
    const { end, position } = this.#unread;
    if (!isWhole || position < end)
      throw new MalformedFile(this.#unread.lineOf(position), `the file ${this.#whatLacks()}`);
    if (this.#chunk.hasRest) this.#closeChunk();
    return this.#chunk.takeFull();
  }

  #whatLacks(): string {
    switch (this.#state) {
      case 'beginning':
      case 'start':
        return 'contains no array of objects';
      case 'row':
      case 'line':
        return 'ends in the middle of an object that begins here';
      case 'firstMember':
      case 'member':
      case 'nextMember':
        return 'ends in the middle of its object';
      default:
        return 'ends in the middle of its array';
    }
  }

  #read(): void {
    const scanner = this.#scanner;
    scanner.bytes = this.#unread.bytes;
    scanner.end = this.#unread.end;
    this.#unreadMin = 0;
    try {
      this.#readAll();
    } catch (error) {
      if (error instanceof UnfinishedText) {
        const unread = this.#unread.end - this.#unread.position;
        // Double the minimum, so that the work stays linear in the size of the file.
        const bytesMax = this.#state === 'member' ? memberBytesMax : defaultReaderLimits.rowBytes;
        this.#unreadMin = Math.min(2 * unread, bytesMax + 1);
        if (this.#state === 'member' && unread > memberBytesMax)
          throw new MalformedFile(
            this.#unread.lineOf(this.#unread.position),
            `a member beside the rows is longer than ${memberBytesMax} bytes`,
          );
        return;
      }
      if (!(error instanceof RefusedText)) throw error;
      const inRow = this.#state === 'row' || this.#state === 'line';
      const key = inRow ? keyPrefix(keyAt(scanner.row, error.position)) : '';
      this.#unread.requireUtf8(this.#unread.position, error.position);
      throw new MalformedFile(this.#unread.lineOf(error.position), `${key}${error.message}`);
    }
  }

  /** Reads until the buffer is empty. */
  #readAll(): void {
    const [scanner, unread] = [this.#scanner, this.#unread];
    if (this.#state === 'beginning') {
      unread.position = skipByteOrderMark(scanner);
      this.#state = 'start';
    }
    for (;;) {
      const before = unread.position;
      scanner.sawBreak = false;
      const position = (unread.position = scanner.space(before));
      if (position >= scanner.end) {
        // A skipped line break is not seen again.
        if (this.#state === 'lineEnd' && unread.bytes.subarray(before, position).includes('\n')) this.#state = 'line';
        return;
      }
      const byte = scanner.bytes[position]!;
      switch (this.#state) {
        case 'start':
          if (byte === openBracket) this.#goOn(position + 1, 'firstRow');
          else if (this.#form === 'ndjson') this.#goOn(position, 'line');
          else if (byte === openBrace) this.#goOn(position, 'object');
          else throw new RefusedText(position, 'the file must be an array of objects');
          break;
        case 'object':
          this.#readObject(position);
          break;
        case 'firstMember':
        case 'nextMember':
          if (byte === closeBrace) this.#leaveObject(position);
          else if (this.#state === 'firstMember') this.#goOn(position, 'member');
          else if (byte === comma) this.#goOn(position + 1, 'member');
          else scanner.unexpected(position);
          break;
        case 'member':
          this.#readMember(position);
          break;
        case 'firstRow':
        case 'nextRow':
          if (byte === closeBracket) this.#goOn(position + 1, this.#isWithin ? 'nextMember' : 'end');
          else if (this.#state === 'firstRow') this.#goOn(position, 'row');
          else if (byte === comma) this.#goOn(position + 1, 'row');
          else scanner.unexpected(position);
          break;
        case 'lineEnd':
          if (!unread.bytes.subarray(before, position).includes('\n')) {
            throw new RefusedText(position, 'the line continues after the object');
          }
          this.#goOn(position, 'line');
          break;
        case 'row':
        case 'line':
          this.#readRow(position);
          break;
        default:
          scanner.unexpected(position);
      }
    }
  }

  #goOn(position: number, state: State): void {
    this.#unread.position = position;
    this.#state = state;
  }

  /** Determines whether the object at `start` is the first row. An object that is longer than a row may be is none. */
  #readObject(start: number): void {
    const { bytes, end } = this.#unread;
    const text = bytes.subarray(0, end);
    const after = this.#scanner.space(valueEndInBytes(text, start));
    if (after < end) this.#goOn(start, 'line');
    else if (end - start > defaultReaderLimits.rowBytes) this.#goIntoObject();
    else throw new UnfinishedText();
  }

  #goIntoObject(): void {
    this.#isWithin = true;
    this.#goOn(this.#unread.position + 1, 'firstMember');
  }

  #leaveObject(position: number): void {
    if (this.#rowsKey === null)
      throw new RefusedText(
        position,
        'the file is one object, and no member of it is an array of objects; as NDJSON it is one row',
      );
    this.#goOn(position + 1, 'end');
  }

  #readMember(start: number): void {
    const scanner = this.#scanner;
    const { bytes } = scanner;
    if (bytes[start] !== quote) scanner.unexpected(start);
    const keyEnd = scanner.string(start);
    const colonAt = scanner.space(keyEnd);
    if (bytes[colonAt] !== colon) scanner.unexpected(colonAt);
    const value = scanner.space(colonAt + 1);
    if (bytes[value] === openBracket) {
      const first = scanner.space(value + 1);
      if (first >= scanner.end) scanner.unexpected(first);
      if (bytes[first] === openBrace) {
        this.#unread.requireUtf8(start, keyEnd);
        const key = scanner.decode(start, keyEnd);
        if (this.#rowsKey !== null)
          throw new RefusedText(
            value,
            `two members are arrays of objects: ${JSON.stringify(this.#rowsKey)} and ${JSON.stringify(key)}`,
          );
        this.#rowsKey = key;
        this.#goOn(value + 1, 'firstRow');
        return;
      }
    }
    const end = scanner.value(value);
    // A number, unlike all other values, may continue in the next piece.
    if (end >= scanner.end) scanner.unexpected(end);
    this.#unread.requireUtf8(start, end);
    this.#goOn(end, 'nextMember');
  }

  #readRow(start: number): void {
    const isLine = this.#state === 'line';
    const unread = this.#unread;
    const end = this.#scanner.scanRow(start);
    unread.requireUtf8(start, end);
    const { longCell } = this.#scanner.row;
    if (longCell !== -1 && this.#refusesLongCells)
      throw new RefusedText(longCell, `a value must not be longer than ${defaultReaderLimits.cellBytes} bytes`);
    const chunk = this.#chunk;
    // Plus the comma before it, and the closing bracket.
    if (chunk.isFull(end - start + 2)) this.#closeChunk();
    chunk.append(chunk.rows === 0 ? open : separator);
    chunk.append(unread.bytes, start, end);
    chunk.addRow(unread.lineOf(start));
    this.#goOn(end, isLine ? 'lineEnd' : 'nextRow');
  }

  #closeChunk(): void {
    if (this.#chunk.rows === 0) this.#chunk.append(open);
    this.#chunk.append(close);
    this.#chunk.close();
  }
}

/** A key for a note: short, in ASCII and without semicolons, like the notes of the service. */
function shownKey(key: string): string {
  return /^[\w$ .-]{1,60}$/.test(key) ? key : 'a member';
}
