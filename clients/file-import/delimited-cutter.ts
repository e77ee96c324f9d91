/** Cuts CSV and TSV into chunks: the records below the header, with the bytes of the file. */
import type { DelimitedForm } from '../../src/language/formats/delimited-form.ts';
import {
  delimiterLineBytesMax,
  delimiterNamedBy,
  dialectOf,
  type Dialect,
} from '../../src/language/formats/dialect.ts';
import { RecordEnds } from '../../src/language/formats/record-ends.ts';
import { RecordSplitter, firstMistake } from '../../src/language/formats/record-splitter.ts';
import { defaultReaderLimits } from '../../src/language/formats/row-reader-limits.ts';
import { SkippedLines } from '../../src/language/formats/skipped-lines.ts';
import { ChunkBuilder, defaultChunkLimits, type Chunk, type ChunkLimits, type Cutter } from './chunk.ts';
import { endOfSample, recogniseDelimiter } from './delimiter.ts';
import { headerLineIn, requireShort, withShortForm } from './header-names.ts';
import { MalformedFile } from './malformed-file.ts';
import { UnreadBytes } from './unread-bytes.ts';

const lineFeed = 10;
const carriageReturn = 13;
/** Ctrl-Z, the end of a text in CP/M and DOS. */
const endOfFile = 0x1a;
const byteOrderMark = Buffer.from('\ufeff');
const { rowBytes: recordBytesMax, cellBytes: cellBytesMax } = defaultReaderLimits;

export interface DelimitedCutterOptions {
  /** The delimiter of the media type. CSV may have another one, which is detected. */
  readonly usual: ',' | '\t';
  /** The form as the person states it. Its marks must not contradict each other. */
  readonly form: DelimitedForm;
  readonly limits?: ChunkLimits | undefined;
  /** Whether cells that are too long for a row are refused. */
  readonly refusesLongCells?: boolean | undefined;
  /** Called if the delimiter was detected and is not the usual one. */
  readonly onRecognised?: ((delimiter: string) => void) | undefined;
  /** Called with the names of the header. Returns the column IDs of the table for names that differ from their ID. */
  readonly columnsOf?: ((names: readonly string[]) => Readonly<Record<string, string>>) | undefined;
}

/** Why a cell is refused. `cell`: its place in the line, from 0. */
export function longCell(cell: number): string {
  return `cell ${cell + 1}: a cell must not be longer than ${cellBytesMax} bytes`;
}

/** The facts that are known once the beginning of the file has been read. */
interface Reading {
  readonly dialect: Dialect;
  readonly ends: RecordEnds;
}

/**
 * Finds only the ends of records. The service checks the records. Up to the first mistake both find the same records,
 * so that the service names the right row. Buffers at most one unfinished record.
 */
export class DelimitedCutter implements Cutter {
  readonly mediaType: Cutter['mediaType'];
  readonly #options: DelimitedCutterOptions;
  readonly #skipped: SkippedLines;
  readonly #unread: UnreadBytes;
  readonly #chunk: ChunkBuilder;
  #form: DelimitedForm;
  /** Null until the delimiter is known. */
  #reading: Reading | null = null;
  /** The header of each chunk with its line end; null until it has been read. */
  #header: Buffer | null = null;
  /**
   * If chunks cannot have a header: how many cells the first row of each chunk needs, because the service takes it for
   * the width of all rows. Null: chunks have a header.
   */
  #width: number | null = null;
  #headerLine: number | null = null;
  /** Bytes before this index have been scanned. */
  #looked = 0;
  #sawBeginning = false;
  #sawFirstLine = false;

  constructor(options: DelimitedCutterOptions) {
    const { skipLines = 0, ...form } = options.form;
    this.#options = options;
    this.#form = form;
    this.#skipped = new SkippedLines(skipLines);
    this.#unread = new UnreadBytes(1 + skipLines);
    this.mediaType = options.usual === ',' ? 'text/csv' : 'text/tab-separated-values';
    this.#chunk = new ChunkBuilder(options.limits ?? defaultChunkLimits);
  }

  get headerLine(): number | null {
    return this.#headerLine;
  }

  get form(): DelimitedForm {
    return this.#form;
  }

  push(bytes: Uint8Array): Chunk[] {
    const unread = this.#unread;
    const before = unread.position;
    const ahead = this.#looked - before;
    unread.append(bytes.subarray(this.#skipped.skip(bytes)));
    this.#looked = unread.position + ahead;
    if (this.#begin(false)) this.#readRecords(unread.end, false);
    if (unread.end - unread.position > recordBytesMax + 2) this.#refuse(unread.position, unread.end);
    return this.#chunk.takeFull();
  }

  end(): Chunk[] {
    const unread = this.#unread;
    this.#begin(true);
    const { ends } = this.#reading!;
    let { end } = unread;
    while (end > unread.position && unread.bytes[end - 1] === endOfFile) end -= 1;
    this.#readRecords(end, true);
    const { position } = unread;
    if (ends.isOpen) this.#refuse(position, end);
    if (ends.isComment && end - position > recordBytesMax) this.#refuse(position, end);
    if (position < end && !ends.isComment) this.#addRecord(position, end, end);
    if (this.#header === null)
      throw new MalformedFile(1, 'the file has no header: its first line must name the columns');
    if (this.#chunk.hasRest) {
      if (this.#chunk.rows === 0) this.#chunk.append(this.#header);
      // Pass the bytes on: the service decides about them.
      this.#chunk.append(unread.bytes, end, unread.end);
      this.#chunk.close();
    }
    return this.#chunk.takeFull();
  }

  /** Reads everything before the header, and determines the delimiter. False while more bytes are needed. */
  #begin(isEnd: boolean): boolean {
    if (this.#reading !== null) return true;
    if (!this.#skipByteOrderMark(isEnd) || !this.#readFirstLine(isEnd)) return false;
    const { usual, form } = this.#options;
    const { bytes, position, end } = this.#unread;
    if (this.#form.delimiter === undefined && usual === ',') {
      const sampleEnd = endOfSample(bytes, position, end);
      if (sampleEnd === null && !isEnd) return false;
      const delimiter = recogniseDelimiter(
        bytes.toString('utf8', position, sampleEnd ?? end),
        sampleEnd === null,
        form,
      );
      if (delimiter !== ',') this.#setDelimiter(delimiter);
    }
    const dialect = dialectOf(this.#form, usual);
    this.#reading = { dialect, ends: new RecordEnds(dialect) };
    this.#looked = position;
    return true;
  }

  /** False while more bytes are needed to detect a byte order mark. */
  #skipByteOrderMark(isEnd: boolean): boolean {
    if (this.#sawBeginning) return true;
    const unread = this.#unread;
    if (unread.end < byteOrderMark.length && !isEnd) return false;
    this.#sawBeginning = true;
    const beginning = unread.bytes.subarray(0, Math.min(unread.end, byteOrderMark.length));
    if (beginning.equals(byteOrderMark)) unread.position = byteOrderMark.length;
    return true;
  }

  /**
   * Reads a first line such as `sep=;`, which names the delimiter and is no header. False while more bytes are needed.
   */
  #readFirstLine(isEnd: boolean): boolean {
    if (this.#sawFirstLine) return true;
    const unread = this.#unread;
    const { bytes, position, end } = unread;
    const max = position + delimiterLineBytesMax;
    if (end < max + 2 && !isEnd) return false;
    this.#sawFirstLine = true;
    let at = position;
    while (at < end && at <= max && bytes[at] !== lineFeed && bytes[at] !== carriageReturn) at += 1;
    const { usual, form } = this.#options;
    const named = at > max ? null : delimiterNamedBy(bytes.toString('utf8', position, at), dialectOf(form, usual));
    if (named === null) return true;
    unread.position = Math.min(end, bytes[at] === carriageReturn && bytes[at + 1] === lineFeed ? at + 2 : at + 1);
    if (form.delimiter === undefined) this.#setDelimiter(named);
    return true;
  }

  #setDelimiter(delimiter: string): void {
    this.#form = { ...this.#form, delimiter };
    if (delimiter !== this.#options.usual) this.#options.onRecognised?.(delimiter);
  }

  /** Reads the records before `end` whose line end has arrived. */
  #readRecords(end: number, isEnd: boolean): void {
    const unread = this.#unread;
    this.#looked = this.#reading!.ends.find(unread.bytes, this.#looked, end, isEnd, (textEnd, next, isComment) => {
      if (!isComment) this.#addRecord(unread.position, textEnd, next);
      else if (textEnd - unread.position > recordBytesMax) this.#refuse(unread.position, textEnd);
      unread.position = next;
    });
  }

  /** Adds the record from `start` to `end`. Its line end extends to `next`. Blank lines are skipped. */
  #addRecord(start: number, end: number, next: number): void {
    if (end === start) return;
    const unread = this.#unread;
    unread.requireUtf8(start, end);
    if (end - start > recordBytesMax) this.#refuse(start, end);
    if (this.#header === null) {
      this.#headerLine = unread.lineOf(start);
      this.#header = this.#readHeader(start, end, next);
      if (this.#options.form.header !== 'absent') return;
    }
    if (this.#options.refusesLongCells === true && end - start > cellBytesMax) this.#refuseLongCell(start, end);
    const chunk = this.#chunk;
    if (chunk.isFull(next - start)) chunk.close();
    if (chunk.rows === 0) chunk.append(this.#header);
    chunk.append(unread.bytes, start, end);
    if (chunk.rows === 0 && this.#width !== null) chunk.append(this.#missingCells(start, end, this.#width));
    chunk.append(unread.bytes, end, next);
    chunk.addRow(unread.lineOf(start));
  }

  #refuseLongCell(start: number, end: number): void {
    const unread = this.#unread;
    const splitter = new RecordSplitter(unread.bytes.toString('utf8', start, end), this.#reading!.dialect);
    // The service reports the mistake in the record.
    if (!splitter.read(0, true)) return;
    const cell = splitter.cells.findIndex((text) => Buffer.byteLength(text) > cellBytesMax);
    if (cell !== -1) throw new MalformedFile(unread.lineOf(start), longCell(cell));
  }

  /**
   * Delimiters that make the first row of a chunk as wide as the first line of the file, in a dialect without quotes.
   */
  #missingCells(start: number, end: number, width: number): Buffer {
    const { delimiter } = this.#reading!.dialect;
    const cells = this.#unread.bytes.toString('utf8', start, end).split(delimiter).length;
    if (cells > width)
      throw new MalformedFile(this.#unread.lineOf(start), `the line has ${cells} cells, the header ${width}`);
    return Buffer.from(delimiter.repeat(width - cells));
  }

  /** The header of each chunk, with a line end. */
  #readHeader(start: number, end: number, next: number): Buffer {
    const { bytes } = this.#unread;
    const { dialect } = this.#reading!;
    const text = bytes.toString('utf8', start, end);
    const splitter = new RecordSplitter(text, dialect);
    const written = splitter.read(0, true) ? this.#nameColumns(splitter.cells) : null;
    requireShort(this.#form);
    if (written === null && this.#width !== null) return Buffer.alloc(0);
    // As the first line of a chunk, this header would name the delimiter or begin with a byte order mark. After a blank
    // line it is a header, as in the file.
    const meansMore = delimiterNamedBy(written ?? text, dialect) !== null || (written ?? text).startsWith('\ufeff');
    return Buffer.concat([
      Buffer.from(meansMore ? '\n' : ''),
      written === null ? bytes.subarray(start, next) : Buffer.from(written),
      Buffer.from(written === null && next > end ? '' : '\n'),
    ]);
  }

  /**
   * Finds the columns that the cells of the first line mean. Returns the header for the chunks if it differs from the
   * first line.
   */
  #nameColumns(cells: readonly string[]): string | null {
    const { columnsOf } = this.#options;
    const { dialect } = this.#reading!;
    if (this.#form.header === 'absent') {
      // The rows of each chunk must have as many columns as the first line of the file, but the first row of a chunk
      // may have fewer cells.
      const { names, form } = withShortForm({ names: cells.map((_, at) => `column_${at + 1}`), form: this.#form });
      const line = headerLineIn(names, dialect);
      if (line === null) this.#width = cells.length;
      else this.#form = { ...form, header: 'present' };
      return line;
    }
    if (this.#form.columns === undefined && columnsOf !== undefined) {
      const columns = columnsOf(cells);
      if (Object.keys(columns).length > 0) this.#form = { ...this.#form, columns };
    }
    const { names, form } = withShortForm({ names: cells, form: this.#form });
    const line = form === this.#form ? null : headerLineIn(names, dialect);
    if (line !== null) this.#form = form;
    return line;
  }

  /** Refuses a record that is too long or has an unclosed quote. Reports the first mistake in it, if there is one. */
  #refuse(start: number, end: number): never {
    const unread = this.#unread;
    const line = unread.lineOf(start);
    const text = unread.bytes.subarray(start, Math.min(end, start + recordBytesMax)).toString();
    const mistake = firstMistake(text, this.#reading?.dialect ?? dialectOf(this.#form, this.#options.usual), false);
    const isLong = end - start > recordBytesMax;
    if (mistake !== null && (!mistake.isOpen || !isLong)) {
      throw new MalformedFile(line, `cell ${mistake.cell + 1}: ${mistake.reason}`);
    }
    const open = mistake === null ? '' : `; cell ${mistake.cell + 1} has a quote that is not closed within them`;
    throw new MalformedFile(line, `a row must not be longer than ${recordBytesMax} bytes${open}`);
  }
}
