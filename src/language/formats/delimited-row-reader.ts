/** CSV (RFC 4180) and TSV bodies as streams of row blocks, in bounded memory (spec 4.2, decisions 2 and 6). */
import { isUtf8 } from 'node:buffer';
import { cellFormOf, ruleOfCells } from '../values/rule.ts';
import type { RowBlock } from './block-writer.ts';
import { CellBlockWriter } from './cell-block-writer.ts';
import { bytesAsStrings } from './cell-bodies.ts';
import type { DelimitedForm } from './delimited-form.ts';
import {
  headerOfAbsent,
  noteRenormalized,
  noteUnnamed,
  placeInHeader,
  readDelimitedHeader,
} from './delimited-header.ts';
import type { DelimitedHeader } from './delimited-header.ts';
import { readDelimitedRecords } from './delimited-records.ts';
import type { DelimitedRecord, Delimiter } from './delimited-records.ts';
import { delimiterLineBytesMax, delimiterNamedBy, dialectOf, type Dialect } from './dialect.ts';
import { backslash, blank, quote } from '../values/json-scanner.ts';
import { MalformedBody, invalidUtf8 } from '../values/malformed-body.ts';
import { emptyOf } from './null-texts.ts';
import { LineBuffer, withoutLineEnd } from './line-buffer.ts';
import { firstMistake, type Mistake } from './record-splitter.ts';
import { defaultReaderLimits } from './row-reader-limits.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';
import { placeInRow } from './row-place.ts';
import { notesMax, type RowReader, type RowsEnd, type RowsRefusal } from './row-reader.ts';
import { shortenCells } from './shorten-cells.ts';
import { SkippedLines } from './skipped-lines.ts';
import type { TextCells } from './text-cells.ts';

/** Chunks are read in slices of this many bytes, which stay in the CPU cache. */
const sliceBytes = 64 * 1024;
const sliceBytesMin = 2 * 1024;

export interface DelimitedRowReaderOptions {
  /** The delimiter of the media type. The form, or a first line that names one, overrides it. */
  readonly delimiter: Delimiter;
  /** The form as the person states it. Its marks must not contradict each other. */
  readonly form?: DelimitedForm;
  /** Column IDs whose order is already fixed: they come first in bodies. */
  readonly columns?: readonly string[];
  readonly limits?: Partial<RowReaderLimits>;
  /** Whether blocks include the row IDs of their rows (`$rowID` in the header); else they are ignored. */
  readonly retainIds?: boolean;
  /** Whether cells that no row may hold are dropped, and all cells counted (`onSchemaError=dropColumns`). */
  readonly dropsCells?: boolean;
  /** Whether cells that no row may hold are refused even so, because an empty cell has a meaning of its own. */
  readonly refusesBadCells?: boolean;
  /** Collects cells of columns whose types are inferred: unknown columns whose type the form does not state. */
  readonly texts?: TextCells | undefined;
}

/** The state once the header has been read. */
interface Body {
  readonly header: DelimitedHeader;
  /** Null if no table could take rows with this header. The rows are then only checked. */
  readonly writer: CellBlockWriter | null;
}

/**
 * Reads whole lines. Buffers the bytes after the last line end, and the lines of a record whose quoted cell is
 * incomplete: at most one row and one slice.
 */
export class DelimitedRowReader implements RowReader {
  #dialect: Dialect;
  readonly #form: DelimitedForm;
  /** Unquoted cells with these texts are empty. */
  readonly #nulls: ReadonlySet<string>;
  readonly #skipped: SkippedLines;
  readonly #known: readonly string[];
  readonly #limits: RowReaderLimits;
  readonly #retainIds: boolean;
  readonly #countsCells: boolean;
  /** Whether cells that no row may hold are dropped. */
  readonly #dropsCells: boolean;
  readonly #texts: TextCells | undefined;
  /** Null until the header has been read. */
  #body: Body | null = null;
  #rows = 0;
  #shortLines = 0;
  #blocks: RowBlock[] = [];

  readonly #lines = new LineBuffer();
  /** Below this many bytes of whole lines a new attempt does not pay: the last one failed with half as many. */
  #unreadMin = 0;
  #sawFirstLine = false;
  /** For notes on lines that do not follow the standard. */
  #namedDelimiter = false;
  #endedAtMark = false;
  #leftOutBlanks = false;
  /** How many bytes at the end belong to an unfinished cell, which may turn out to be too long and be dropped. */
  #openBytes = 0;
  #refusal: RowsRefusal | null = null;
  /** Whether a limit has ended the reading. */
  #isCut = false;

  constructor({
    delimiter,
    form = {},
    columns = [],
    limits = {},
    retainIds = false,
    dropsCells = false,
    refusesBadCells = false,
    texts,
  }: DelimitedRowReaderOptions) {
    this.#dialect = dialectOf(form, delimiter);
    this.#form = form;
    this.#nulls = new Set(form.null);
    this.#skipped = new SkippedLines(form.skipLines ?? 0);
    this.#known = columns;
    this.#limits = { ...defaultReaderLimits, ...limits };
    this.#retainIds = retainIds;
    this.#countsCells = dropsCells;
    this.#dropsCells = dropsCells && !refusesBadCells;
    this.#texts = texts;
  }

  get refusal(): RowsRefusal | null {
    return this.#refusal;
  }

  /**
   * Reads a slice only once the caller has taken the blocks of the previous one, because with long column IDs a few
   * bytes become large blocks.
   */
  *push(chunk: Uint8Array): Generator<RowBlock, void, undefined> {
    for (let start = this.#skipped.skip(chunk); start < chunk.length && !this.#isCut;) {
      const end = start + this.#sliceBytes();
      this.#lines.append(chunk.subarray(start, end));
      start = end;
      this.#shortenCells();
      const unread = this.#lines.linesEnd - this.#lines.position;
      if ((unread > 0 && unread >= this.#unreadMin) || this.#isTooLong()) this.#readLines();
      yield* this.#takeBlocks();
    }
  }

  end(): RowsEnd {
    if (!this.#isCut) {
      this.#endedAtMark = this.#lines.endAtMark();
      this.#read(this.#lines.end, true);
    }
    if (!this.#isCut) {
      if (this.#body === null) throw malformed('the body has no header: its first line must name the columns');
      const last = this.#body.writer?.close() ?? null;
      if (last !== null) this.#blocks.push(last);
    }
    const notes =
      this.#body === null
        ? []
        : [...this.#notes(), ...noteRenormalized(this.#body.header), ...noteUnnamed(this.#body.header)].slice(
            0,
            notesMax,
          );
    return {
      blocks: this.#takeBlocks(),
      envelope: null,
      hasRows: true,
      remarks: { shortLines: this.#shortLines, notes },
      isWhole: !this.#isCut,
    };
  }

  #notes(): string[] {
    const notes: string[] = [];
    if (this.#namedDelimiter) notes.push('first line: named the delimiter by sep=');
    if (this.#leftOutBlanks) notes.push('blanks around quoted cells: were left out');
    if (this.#endedAtMark) notes.push('Ctrl-Z at the end: was left out');
    return notes;
  }

  /**
   * The length of a slice that yields at most about one block, even if every cell is a single byte and its delimiter.
   */
  #sliceBytes(): number {
    const columns = this.#body?.header.columns ?? [];
    if (columns.length === 0) return sliceBytes;
    const keyBytes = columns.reduce((sum, column) => sum + (column?.overheadBytes ?? 0), 0) / columns.length;
    return Math.max(sliceBytesMin, Math.min(sliceBytes, Math.floor((2 * this.#limits.blockBytes) / (keyBytes + 2))));
  }

  #takeBlocks(): RowBlock[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    return blocks;
  }

  /**
   * If cells may be dropped, removes cells that are too long from the buffer, so that they do not count for their row.
   */
  #shortenCells(): void {
    this.#openBytes = 0;
    const lines = this.#lines;
    if (!this.#dropsCells || this.#body === null || lines.end - lines.position <= this.#limits.rowBytes) return;
    const { end, open } = shortenCells(lines.bytes, lines.position, lines.end, this.#dialect, this.#limits.cellBytes);
    lines.shortenTo(end);
    this.#openBytes = open;
  }

  /**
   * Reads a first line such as `sep=;`, which names the delimiter and is no header. A delimiter that the person stated
   * overrides it.
   */
  #readFirstLine(end: number): void {
    const lines = this.#lines;
    if (this.#sawFirstLine || end <= lines.position) return;
    this.#sawFirstLine = true;
    const next = lines.nextLine(lines.position, end);
    const line = withoutLineEnd(lines.unread(next));
    const named = line.length <= delimiterLineBytesMax ? delimiterNamedBy(line.toString(), this.#dialect) : null;
    if (named === null) return;
    lines.position = next;
    this.#namedDelimiter = true;
    this.#dialect = dialectOf(this.#form, named);
  }

  /** Whether the unread bytes, without a line end, exceed one row. */
  #isTooLong(): boolean {
    const lines = this.#lines;
    const bytesMax = this.#limits.rowBytes;
    if (lines.end - lines.position <= bytesMax) return false;
    // The last bytes may be a line end, or half of one.
    return withoutLineEnd(lines.unread(lines.end - this.#openBytes)).length > bytesMax;
  }

  #readLines(): void {
    this.#read(this.#lines.linesEnd, false);
    if (this.#isCut) return;
    const unread = this.#lines.linesEnd - this.#lines.position;
    // Double the minimum, so that the work stays linear in the size of the body.
    this.#unreadMin = unread > 0 ? Math.min(2 * unread, this.#limits.rowBytes + 2) : 0;
    if (this.#isTooLong()) this.#untilLimit(() => this.#refuseLong(this.#lines.unread()));
  }

  /** Reads the records before `end`: at the end of the body all of them, otherwise those whose line end has arrived. */
  #read(end: number, isLast: boolean): void {
    this.#untilLimit(() => this.#readBefore(end, isLast));
  }

  /** Ends the reading at a limit. The row cannot be kept whole, so nothing can be said about the bytes after it. */
  #untilLimit(read: () => void): void {
    try {
      read();
    } catch (error) {
      if (!(error instanceof MalformedBody) || error.type !== 'limit_exceeded') throw error;
      this.#refusal ??= { type: error.type, message: error.message };
      this.#isCut = true;
      this.#lines.bytes = Buffer.alloc(0);
    }
  }

  #readBefore(end: number, isLast: boolean): void {
    const lines = this.#lines;
    lines.skipByteOrderMark();
    this.#readFirstLine(end);
    const invalid = lines.invalidLine(end);
    this.#readText(invalid ?? end, isLast && invalid === null);
    if (invalid === null) return;
    const rest = withoutLineEnd(lines.unread(lines.nextLine(invalid, end)));
    if (rest.length > this.#limits.rowBytes) this.#refuseLong(rest);
    throw invalidUtf8();
  }

  #readText(end: number, isLast: boolean): void {
    const lines = this.#lines;
    if (end <= lines.position) return;
    const { rest, sawBlanks } = readDelimitedRecords(
      lines.unread(end),
      { dialect: this.#dialect, allowsZero: () => this.#allowsZero, commentBytesMax: this.#limits.rowBytes, isLast },
      (record) => this.#readRecord(record),
    );
    this.#leftOutBlanks ||= sawBlanks;
    lines.position = end - Buffer.byteLength(rest);
    if (rest === '') return;
    const unread = withoutLineEnd(lines.unread(end));
    const open = Math.max(0, this.#openBytes - (lines.end - end));
    if (unread.length - open > this.#limits.rowBytes) this.#refuseLong(unread);
    const mistake = this.#mistakeIn(isLast ? unread.toString() : rest);
    if (mistake !== null && (isLast || !mistake.isOpen)) this.#refuse(mistake);
  }

  #readRecord(received: DelimitedRecord): void {
    let record = received;
    if (record.bytes > this.#limits.rowBytes) this.#refuseLong(Buffer.from(record.text));
    if (this.#body === null) {
      const isAbsent = this.#form.header === 'absent';
      const header = (isAbsent ? headerOfAbsent : readDelimitedHeader)(
        record.cells,
        this.#known,
        this.#limits,
        this.#form,
      );
      const writer =
        header.refusal === null
          ? new CellBlockWriter(header, this.#limits, this.#retainIds, this.#countsCells, ruleOfCells(this.#form))
          : null;
      this.#body = { header, writer };
      if (header.refusal === null) this.#watch(header);
      this.#refusal = header.refusal;
      if (!isAbsent) return;
    }
    const { header, writer } = this.#body;
    if (this.#nulls.size > 0) record = emptyOf(record, this.#nulls);
    if (record.cells.length > header.width) {
      throw malformed(`${this.#place()}: the line has ${record.cells.length} cells, the header ${header.width}`);
    }
    if (record.cells.length < header.namedEnd) this.#shortLines += 1;
    if (!this.#dropsCells && record.bytes > this.#limits.cellBytes) this.#checkCells(record.cells);
    if (writer === null) {
      this.#rows += 1;
      return;
    }
    const { cells, dropped } = this.#dropsCells
      ? this.#withoutBadCells(record, header)
      : { cells: record.cells, dropped: 0 };
    const full = writer.add(
      cells,
      dropped > 0 ? this.#bodyBytes(cells, header) : this.#bodyBytesMax(record, header),
      dropped,
    );
    if (full !== null) this.#blocks.push(full);
    this.#rows += 1;
  }

  #watch({ columns }: DelimitedHeader): void {
    const texts = this.#texts;
    if (texts === undefined) return;
    const form = cellFormOf(ruleOfCells(this.#form));
    const known = new Set(this.#known);
    for (const column of columns) {
      if (column !== null && column.given === null && !known.has(column.id))
        column.watch = texts.column(column.id, form);
    }
  }

  /** An upper bound for the bytes of the row's body: the bytes received, plus keys and escapes. */
  #bodyBytesMax({ text, bytes, cells, clean }: DelimitedRecord, header: DelimitedHeader): number {
    let bytesMax = 2 + bytes + (clean ? 0 : escapeBytes(text, this.#dialect));
    for (let position = 0; position < cells.length; position += 1) {
      if (cells[position] !== '') bytesMax += header.columns[position]?.overheadBytes ?? 0;
    }
    if (bytesMax > this.#limits.rowBytes) this.#bodyBytes(cells, header);
    return bytesMax;
  }

  /**
   * The bytes of the row's body if all cells are stored as strings. Dropped cells must not count, because the bytes
   * that remain of them depend on how the body was cut.
   */
  #bodyBytes(cells: readonly string[], header: DelimitedHeader): number {
    const bytes = bytesAsStrings(cells, header);
    if (bytes > this.#limits.rowBytes) throw this.#tooLong();
    return bytes;
  }

  /** The cells; those that no row may hold are empty. The value of `$rowID` is checked where IDs are used. */
  #withoutBadCells(
    { cells, bytes, clean }: DelimitedRecord,
    { rowIdAt }: DelimitedHeader,
  ): { readonly cells: readonly string[]; readonly dropped: number } {
    const { cellBytes } = this.#limits;
    if (clean && bytes <= cellBytes) return { cells, dropped: 0 };
    const isBad = (text: string, position: number): boolean =>
      position !== rowIdAt && (text.includes('\0') || Buffer.byteLength(text) > cellBytes);
    return {
      cells: cells.map((text, position) => (isBad(text, position) ? '' : text)),
      dropped: cells.filter(isBad).length,
    };
  }

  get #allowsZero(): boolean {
    return this.#dropsCells && this.#body !== null;
  }

  #mistakeIn(text: string): Mistake | null {
    return firstMistake(text, this.#dialect, this.#allowsZero);
  }

  #checkCells(cells: readonly string[]): void {
    const { cellBytes } = this.#limits;
    const cell = cells.findIndex((text) => Buffer.byteLength(text) > cellBytes);
    if (cell === -1) return;
    const reason = `a cell must not be longer than ${cellBytes} bytes`;
    this.#refusal ??= { type: 'limit_exceeded', message: `${this.#place(cell)}: ${reason}` };
  }

  #refuse({ cell, reason }: Mistake): never {
    throw malformed(`${this.#place(cell)}: ${reason}`);
  }

  /**
   * Refuses a record that is longer than a row may be. An error within the limit takes precedence. `bytes` begin with
   * the record.
   */
  #refuseLong(bytes: Buffer): never {
    let end = this.#limits.rowBytes;
    // The limit may split a character, which has at most three continuation bytes.
    for (let back = 0; back < 3 && (bytes[end]! & 0xc0) === 0x80; back += 1) end -= 1;
    const within = bytes.subarray(0, end);
    if (!isUtf8(within)) throw invalidUtf8();
    const mistake = this.#mistakeIn(within.toString());
    if (mistake !== null && !mistake.isOpen) this.#refuse(mistake);
    throw this.#tooLong();
  }

  #tooLong(): MalformedBody {
    const isHeader = this.#body === null && this.#form.header !== 'absent';
    const reason = `${isHeader ? 'the header' : 'a row'} must not be longer than ${this.#limits.rowBytes} bytes`;
    return new MalformedBody('limit_exceeded', isHeader ? reason : `${this.#place()}: ${reason}`);
  }

  /** Names the current record, or a cell of it. */
  #place(cell?: number): string {
    if (this.#body === null && this.#form.header === 'absent')
      return placeInRow(0, cell === undefined ? null : `column_${cell + 1}`);
    if (this.#body === null) return placeInHeader(cell ?? 0);
    return placeInRow(this.#rows, cell === undefined ? null : (this.#body.header.ids[cell] ?? null));
  }
}

/**
 * Upper bound for the bytes that JSON escapes add to the text. A quote within a cell is already doubled, or has an
 * escape before it.
 */
function escapeBytes(text: string, { quote: quotes, lenient }: Dialect): number {
  let bytes = 0;
  const hasSingleQuotes = lenient || quotes !== '"';
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === backslash || (hasSingleQuotes && code === quote)) bytes += 1;
    else if (code < blank) bytes += '\\u0000'.length - 1;
  }
  return bytes;
}

function malformed(message: string): MalformedBody {
  return new MalformedBody('request_validation_error', message);
}
