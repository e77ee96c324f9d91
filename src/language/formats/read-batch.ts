/** The body of a batch: an object whose member `operations` lists operations on rows (docs/spec/decisions.md). */
import { MalformedBody, emptyBody, requireUtf8, unfinishedBody } from '../values/malformed-body.ts';
import {
  RefusedText,
  UnfinishedText,
  closeBrace,
  closeBracket,
  colon,
  comma,
  lowerN,
  openBrace,
  openBracket,
  quote,
  skipByteOrderMark,
} from '../values/json-scanner.ts';
import { BlockWriter, type RowBlock } from './block-writer.ts';
import { defaultReaderLimits, type RowReaderLimits } from './row-reader-limits.ts';
import { keyAt, placeUnder } from './row-place.ts';
import { RowScanner, rowIdKey } from './row-scanner.ts';

/** The most operations of a batch. */
export const operationsMax = 10_000;
/** The most bytes of the rows of a batch: one event contains them and the operations. */
export const batchRowsBytesMax = 1024 * 1024;

/** An operation as the client sent it, not validated. */
interface ReadOperation {
  /** The members of the operation, with an empty object in place of its row. */
  readonly members: Readonly<Record<string, unknown>>;
  /** The value of `$rowID` in its row; absent if the row has none. */
  readonly givenRowId?: unknown;
}

export interface ReadBatch {
  /** The members of the body besides the operations. */
  readonly members: Readonly<Record<string, unknown>>;
  /** Null if the member is missing. If it is not an array, also null, and `members` has the value. */
  readonly operations: readonly ReadOperation[] | null;
  /** The rows of the operations that have one, in order; null if there are none. Rows of patches keep their nulls. */
  readonly block: RowBlock | null;
}

/** Reads the whole body of a batch. Throws MalformedBody, whose message begins with the place. */
export function readBatch(bytes: Uint8Array, limits: Partial<RowReaderLimits> = {}): ReadBatch {
  requireUtf8(bytes, 0, bytes.length);
  // `onSchemaError` determines how cells are read, and may come after them.
  const mayDrop = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes('dropColumns');
  const read = new BatchReader(bytes, limits, mayDrop).read();
  const dropsCells = read.members['onSchemaError'] === 'dropColumns';
  return dropsCells === mayDrop ? read : new BatchReader(bytes, limits, dropsCells).read();
}

class BatchReader {
  readonly #scanner: RowScanner;
  readonly #limits: RowReaderLimits;
  readonly #writer: BlockWriter;
  readonly #members = Object.create(null) as Record<string, unknown>;
  #operations: ReadOperation[] | null = null;
  /** The place that is being read, for messages. */
  #place = '';
  #isInRow = false;

  constructor(bytes: Uint8Array, limits: Partial<RowReaderLimits>, dropsCells: boolean) {
    this.#limits = { ...defaultReaderLimits, blockRows: operationsMax, blockBytes: batchRowsBytesMax, ...limits };
    this.#scanner = new RowScanner([], this.#limits, { keepsNulls: true, dropsCells });
    this.#scanner.bytes = Buffer.allocUnsafe(bytes.length + 1);
    this.#scanner.bytes.set(bytes);
    this.#scanner.bytes[bytes.length] = 0;
    this.#scanner.end = bytes.length;
    this.#writer = new BlockWriter(this.#scanner, this.#limits);
  }

  read(): ReadBatch {
    const scanner = this.#scanner;
    try {
      const start = scanner.space(skipByteOrderMark(scanner));
      if (start === scanner.end) throw emptyBody();
      if (scanner.bytes[start] !== openBrace) throw new RefusedText(start, 'the body must be an object');
      const end = scanner.space(this.#object(start, this.#members, (key, at) => this.#member(key, at)));
      if (end < scanner.end) scanner.unexpected(end);
    } catch (error) {
      if (error instanceof UnfinishedText) throw unfinishedBody(this.#place === '' ? null : this.#place);
      if (!(error instanceof RefusedText)) throw error;
      throw new MalformedBody(error.type, `${this.#prefix(error.position)}${error.message}`);
    }
    return { members: this.#members, operations: this.#operations, block: this.#writer.close() };
  }

  #prefix(position: number): string {
    const place = this.#isInRow ? placeUnder(this.#place, keyAt(this.#scanner.row, position)) : this.#place;
    return place === '' ? '' : `${place}: `;
  }

  /**
   * Reads the object whose brace is at `start`. Its values become members, unless `readMember` reads a value itself and
   * returns where it ends. Returns the index after the object.
   */
  #object(
    start: number,
    members: Record<string, unknown>,
    readMember: (key: string, at: number) => number | null,
  ): number {
    const scanner = this.#scanner;
    const keys = new Set<string>();
    let position = scanner.space(start + 1);
    if (scanner.bytes[position] === closeBrace) return position + 1;
    for (;;) {
      if (scanner.bytes[position] !== quote) scanner.unexpected(position);
      const keyEnd = scanner.string(position);
      const colonAt = scanner.space(keyEnd);
      if (scanner.bytes[colonAt] !== colon) scanner.unexpected(colonAt);
      const key = scanner.decode(position, keyEnd);
      if (keys.has(key)) throw new RefusedText(colonAt, `${JSON.stringify(key)} stands twice`);
      keys.add(key);
      const valueStart = scanner.space(colonAt + 1);
      let end = readMember(key, valueStart);
      if (end === null) {
        end = scanner.value(valueStart);
        members[key] = JSON.parse(scanner.text(valueStart, end)) as unknown;
      }
      position = scanner.space(end);
      if (scanner.bytes[position] === closeBrace) return position + 1;
      if (scanner.bytes[position] !== comma) scanner.unexpected(position);
      position = scanner.space(position + 1);
    }
  }

  #member(key: string, at: number): number | null {
    const scanner = this.#scanner;
    if (key !== 'operations' || scanner.bytes[at] !== openBracket) return null;
    const operations: ReadOperation[] = (this.#operations = []);
    let position = scanner.space(at + 1);
    if (scanner.bytes[position] === closeBracket) return position + 1;
    for (;;) {
      this.#place = `operations[${operations.length}]`;
      if (operations.length === operationsMax) {
        this.#place = 'operations';
        throw new RefusedText(position, `there may be at most ${operationsMax}`, 'limit_exceeded');
      }
      position = scanner.space(this.#operation(position, operations));
      this.#place = 'operations';
      if (scanner.bytes[position] === closeBracket) break;
      if (scanner.bytes[position] !== comma) scanner.unexpected(position);
      position = scanner.space(position + 1);
    }
    this.#place = '';
    return position + 1;
  }

  /** Reads the operation at `start`, with its row. Returns the index after it. */
  #operation(start: number, operations: ReadOperation[]): number {
    const scanner = this.#scanner;
    if (scanner.bytes[start] !== openBrace) {
      if (start >= scanner.end) throw new UnfinishedText();
      throw new RefusedText(start, 'an operation must be an object');
    }
    const members = Object.create(null) as Record<string, unknown>;
    let hasRow = false;
    const end = this.#object(start, members, (key, at) => {
      if (key !== 'row' || scanner.bytes[at] !== openBrace) return null;
      hasRow = true;
      members['row'] = noMembers;
      return this.#row(at);
    });
    operations.push(hasRow ? { members, ...this.#addRow(members['op'] !== 'add') } : { members });
    return end;
  }

  #row(start: number): number {
    const scanner = this.#scanner;
    const place = this.#place;
    this.#place = `${place}.row`;
    this.#isInRow = true;
    const end = scanner.scanRow(start);
    const { longCell } = scanner.row;
    if (longCell !== -1) {
      const message = `a value must not be longer than ${this.#limits.cellBytes} bytes`;
      throw new RefusedText(longCell, message, 'limit_exceeded');
    }
    this.#isInRow = false;
    this.#place = place;
    return end;
  }

  /** Adds the row that was scanned last. Returns the value of the row's `$rowID`, if there is one. */
  #addRow(keepsNulls: boolean): Pick<ReadOperation, 'givenRowId'> {
    const scanner = this.#scanner;
    const { row } = scanner;
    const { columns, starts, ends, count } = row;
    scanner.keepsNulls = keepsNulls;
    const { bytes } = scanner;
    if (!keepsNulls && starts.some((at, cell) => cell < count && bytes[at] === lowerN)) row.clean = false;
    const { start } = row;
    if (this.#writer.add(row) !== null) {
      this.#place = 'operations';
      throw new RefusedText(
        start,
        `their rows must not be longer than ${this.#limits.blockBytes} bytes`,
        'limit_exceeded',
      );
    }
    scanner.keepsNulls = true;
    for (let cell = 0; cell < count; cell += 1) {
      if (columns[cell]!.id !== rowIdKey) continue;
      return { givenRowId: JSON.parse(scanner.text(starts[cell]!, ends[cell]!)) as unknown };
    }
    return {};
  }
}

const noMembers = Object.freeze({});
