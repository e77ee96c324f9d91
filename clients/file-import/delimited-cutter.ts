/** Cuts CSV and TSV into chunks: records of the file below its header, unchanged but for other delimiters than the service reads. */
import type { Delimiter } from '../../src/formats/delimited-records.ts';
import { dialectOf } from '../../src/formats/dialect.ts';
import { firstMistake } from '../../src/formats/record-splitter.ts';
import { defaultRowLimits } from '../../src/formats/row-limits.ts';
import { ChunkBuilder, defaultChunkLimits, type Chunk, type ChunkLimits, type Cutter } from './chunk.ts';
import { endOfSample, recogniseDelimiter, withDelimiter } from './delimiter.ts';
import { MalformedFile } from './malformed-file.ts';
import { UnreadBytes } from './unread-bytes.ts';

const lineFeed = 10;
const carriageReturn = 13;
const quoteMark = 0x22;
const byteOrderMark = Buffer.from('\ufeff');
const { rowBytes: recordBytesMax } = defaultRowLimits;

/**
 * Finds only where records end: at line ends outside of quotes. A quoted cell has an even number of quotes, so counting them is
 * enough. The service checks whether they are well placed; up to the first mistake both find the same records, so that the service
 * names the right row. Buffers at most one unfinished record.
 */
export class DelimitedCutter implements Cutter {
  readonly mediaType: Cutter['mediaType'];
  /** What the file has between its cells; null until the first records say so. */
  #delimiter: Delimiter | null;
  /** What the chunks have. */
  readonly #sent: Delimiter;
  readonly #onRecognised: (delimiter: Delimiter) => void;
  readonly #unread = new UnreadBytes();
  readonly #chunk: ChunkBuilder;
  /** Includes its line end; null until it has been read. */
  #header: Buffer | null = null;
  #headerLine: number | null = null;
  /** Bytes before this index have been scanned. */
  #looked = 0;
  #isQuoted = false;
  #sawBeginning = false;

  /** `delimiter`: null to recognise it from the first records; then `onRecognised` is called if it is no comma. */
  constructor(delimiter: Delimiter | null, limits: ChunkLimits = defaultChunkLimits, onRecognised: (delimiter: Delimiter) => void = () => undefined) {
    this.#delimiter = delimiter;
    this.#sent = delimiter === '\t' ? '\t' : ',';
    this.mediaType = this.#sent === ',' ? 'text/csv' : 'text/tab-separated-values';
    this.#onRecognised = onRecognised;
    this.#chunk = new ChunkBuilder(limits);
  }

  get headerLine(): number | null {
    return this.#headerLine;
  }

  push(bytes: Uint8Array): Chunk[] {
    const unread = this.#unread;
    const before = unread.position;
    const ahead = this.#looked - before;
    unread.append(bytes);
    this.#looked = unread.position + ahead;
    if (!this.#skipByteOrderMark(false)) return [];
    if (this.#delimiter === null && endOfSample(unread.bytes, unread.position, unread.end) === null) return [];
    this.#readRecords();
    if (unread.end - unread.position > recordBytesMax + 2) this.#refuse(unread.position, unread.end);
    return this.#chunk.takeFull();
  }

  end(): Chunk[] {
    const unread = this.#unread;
    this.#skipByteOrderMark(true);
    this.#readRecords();
    const { position, end } = unread;
    if (this.#isQuoted) this.#refuse(position, end);
    if (position < end) this.#addRecord(position, end, end);
    if (this.#header === null) throw new MalformedFile(1, 'the file has no header: its first line must name the columns');
    if (this.#chunk.hasRest) this.#closeChunk();
    return this.#chunk.takeFull();
  }

  /** False while more bytes are needed to detect a byte order mark. */
  #skipByteOrderMark(isEnd: boolean): boolean {
    if (this.#sawBeginning) return true;
    const unread = this.#unread;
    if (unread.end < byteOrderMark.length && !isEnd) return false;
    this.#sawBeginning = true;
    const beginning = unread.bytes.subarray(0, Math.min(unread.end, byteOrderMark.length));
    if (beginning.equals(byteOrderMark)) unread.position = this.#looked = byteOrderMark.length;
    return true;
  }

  /** Reads the records whose line end has arrived. */
  #readRecords(): void {
    const unread = this.#unread;
    const { bytes, end } = unread;
    let isQuoted = this.#isQuoted;
    for (let at = this.#looked; at < end; at += 1) {
      const byte = bytes[at]!;
      if (byte === quoteMark) {
        isQuoted = !isQuoted;
      } else if (byte === lineFeed && !isQuoted) {
        this.#addRecord(unread.position, bytes[at - 1] === carriageReturn && at > unread.position ? at - 1 : at, at + 1);
        unread.position = at + 1;
      }
    }
    this.#isQuoted = isQuoted;
    this.#looked = end;
  }

  /** Adds a record from `start` to `end`; its line end extends to `next`. Blank lines are skipped. */
  #addRecord(start: number, end: number, next: number): void {
    if (end === start) return;
    const unread = this.#unread;
    unread.requireUtf8(start, end);
    if (end - start > recordBytesMax) this.#refuse(start, end);
    if (this.#header === null) {
      this.#headerLine = unread.lineOf(start);
      this.#delimiter ??= this.#recognise(start);
      const text = this.#sentRecord(this.#delimiter, start, end, next);
      this.#header = text.at(-1) === lineFeed ? Buffer.from(text) : Buffer.concat([text, Buffer.from('\n')]);
      return;
    }
    const chunk = this.#chunk;
    const record = this.#sentRecord(this.#delimiter!, start, end, next);
    if (chunk.isFull(record.length)) this.#closeChunk();
    if (chunk.rows === 0) chunk.append(this.#header);
    chunk.append(record);
    chunk.addRow(unread.lineOf(start));
  }

  /** By the header, which begins at `start`, and by the records behind it that have arrived. */
  #recognise(start: number): Delimiter {
    const { bytes, end } = this.#unread;
    const sampleEnd = endOfSample(bytes, start, end);
    const delimiter = recogniseDelimiter(bytes.toString('utf8', start, sampleEnd ?? end), sampleEnd === null);
    if (delimiter !== ',') this.#onRecognised(delimiter);
    return delimiter;
  }

  /** A record as chunks have it, with its line end. The service would not see mistakes in one that is written anew. */
  #sentRecord(delimiter: Delimiter, start: number, end: number, next: number): Buffer {
    const { bytes } = this.#unread;
    if (delimiter === this.#sent) return bytes.subarray(start, next);
    const text = bytes.toString('utf8', start, end);
    const mistake = firstMistake(text, dialectOf({}, delimiter), false);
    if (mistake !== null) throw new MalformedFile(this.#unread.lineOf(start), `cell ${mistake.cell + 1}: ${mistake.reason}`);
    return Buffer.from(`${withDelimiter(text, delimiter, this.#sent)}\n`);
  }

  #closeChunk(): void {
    if (this.#chunk.rows === 0) this.#chunk.append(this.#header!);
    this.#chunk.close();
  }

  /** Refuses a record that is too long, or whose last quote is never closed; reports the first mistake in it if there is one. */
  #refuse(start: number, end: number): never {
    const unread = this.#unread;
    const line = unread.lineOf(start);
    const text = unread.bytes.subarray(start, Math.min(end, start + recordBytesMax)).toString();
    const mistake = firstMistake(text, dialectOf({}, this.#delimiter ?? recogniseDelimiter(text, false)), false);
    const isLong = end - start > recordBytesMax;
    if (mistake !== null && (!mistake.isOpen || !isLong)) {
      throw new MalformedFile(line, `cell ${mistake.cell + 1}: ${mistake.reason}`);
    }
    const open = mistake === null ? '' : `; cell ${mistake.cell + 1} has a quote that is not closed within them`;
    throw new MalformedFile(line, `a row must not be longer than ${recordBytesMax} bytes${open}`);
  }
}
