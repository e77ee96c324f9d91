/** Cuts JSON arrays and NDJSON into chunks: arrays of unchanged objects of the file, each token as written. */
import {
  RefusedText, UnfinishedText, closeBracket, comma, openBracket, skipByteOrderMark,
} from '../../src/formats/json-scanner.ts';
import { defaultRowLimits } from '../../src/formats/row-limits.ts';
import { keyAt, keyPrefix } from '../../src/formats/row-place.ts';
import { RowScanner } from '../../src/formats/row-scanner.ts';
import { ChunkBuilder, defaultChunkLimits, type Chunk, type ChunkLimits, type Cutter } from './chunk.ts';
import { MalformedFile } from './malformed-file.ts';
import { UnreadBytes } from './unread-bytes.ts';

/** What comes next in the file, after white space. */
type State = 'beginning' | 'array' | 'firstRow' | 'row' | 'nextRow' | 'line' | 'lineEnd' | 'end';

const [open, separator, close] = [Buffer.from('['), Buffer.from(','), Buffer.from(']')];

/** Buffers unread bytes: at most one unfinished object. */
export class JsonCutter implements Cutter {
  readonly mediaType = 'application/json';
  readonly form = {};
  readonly headerLine = null;
  readonly #isLines: boolean;
  readonly #scanner = new RowScanner([], defaultRowLimits);
  readonly #unread = new UnreadBytes();
  readonly #chunk: ChunkBuilder;
  #state: State = 'beginning';
  /** Below this many unread bytes a new attempt is not worthwhile: the last one failed with half as many. */
  #unreadMin = 0;

  constructor(form: 'json' | 'ndjson', limits: ChunkLimits = defaultChunkLimits) {
    this.#isLines = form === 'ndjson';
    this.#chunk = new ChunkBuilder(limits);
  }

  push(bytes: Uint8Array): Chunk[] {
    this.#unread.append(bytes);
    const { end, position } = this.#unread;
    if (end - position >= this.#unreadMin) this.#read();
    return this.#chunk.takeFull();
  }

  end(): Chunk[] {
    this.#read();
    const state = this.#state;
    const isWhole = state === 'end' || state === 'line' || state === 'lineEnd' || (this.#isLines && state === 'beginning');
    const { end, position } = this.#unread;
    if (!isWhole || position < end) {
      throw new MalformedFile(this.#unread.lineOf(position), state === 'beginning' || state === 'array'
        ? 'the file has no array of objects in it'
        : `the file ends in the middle of ${state === 'row' || state === 'line' ? 'an object that begins here' : 'its array'}`);
    }
    if (this.#chunk.hasRest) this.#closeChunk();
    return this.#chunk.takeFull();
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
        // Doubling keeps the work linear in the size of the file.
        this.#unreadMin = Math.min(2 * unread, defaultRowLimits.rowBytes + 1);
        return;
      }
      if (!(error instanceof RefusedText)) throw error;
      const inRow = this.#state === 'row' || this.#state === 'line';
      const key = inRow ? keyPrefix(keyAt(scanner.row, error.position)) : '';
      this.#unread.requireUtf8(this.#unread.position, error.position);
      throw new MalformedFile(this.#unread.lineOf(error.position), `${key}${error.message}`);
    }
  }

  /** Reads until the buffer is used up. */
  #readAll(): void {
    const [scanner, unread] = [this.#scanner, this.#unread];
    if (this.#state === 'beginning') {
      unread.position = skipByteOrderMark(scanner);
      this.#state = this.#isLines ? 'line' : 'array';
    }
    for (;;) {
      const before = unread.position;
      scanner.sawBreak = false;
      const position = unread.position = scanner.space(before);
      if (position >= scanner.end) {
        // A skipped line break is not seen again.
        if (this.#state === 'lineEnd' && unread.bytes.subarray(before, position).includes('\n')) this.#state = 'line';
        return;
      }
      const byte = scanner.bytes[position]!;
      switch (this.#state) {
        case 'array':
          if (byte !== openBracket) throw new RefusedText(position, 'the file must be an array of objects');
          this.#goOn(position + 1, 'firstRow');
          break;
        case 'firstRow':
        case 'nextRow':
          if (byte === closeBracket) this.#goOn(position + 1, 'end');
          else if (this.#state === 'firstRow') this.#goOn(position, 'row');
          else if (byte === comma) this.#goOn(position + 1, 'row');
          else scanner.unexpected(position);
          break;
        case 'lineEnd':
          if (!unread.bytes.subarray(before, position).includes('\n')) {
            throw new RefusedText(position, 'something follows the object in its line');
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

  #readRow(start: number): void {
    const unread = this.#unread;
    const end = this.#scanner.scanRow(start);
    unread.requireUtf8(start, end);
    const chunk = this.#chunk;
    // Plus the comma before it and the closing bracket.
    if (chunk.isFull(end - start + 2)) this.#closeChunk();
    chunk.append(chunk.rows === 0 ? open : separator);
    chunk.append(unread.bytes, start, end);
    chunk.addRow(unread.lineOf(start));
    this.#goOn(end, this.#isLines ? 'lineEnd' : 'nextRow');
  }

  #closeChunk(): void {
    if (this.#chunk.rows === 0) this.#chunk.append(open);
    this.#chunk.append(close);
    this.#chunk.close();
  }
}
