/** Exports a table: all rows that match a filter, at one version, as a file that is written while it is read. */
import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { CsvForm } from '../../language/export-format.ts';
import { QueryError } from '../../language/query-error.ts';
import { readRowsQuery, type RowsQuery } from '../../language/rows-query.ts';
import type { ExportRequest } from '../../protocol.ts';
import type { Columnar } from '../columnar.ts';
import {
  compileBytes,
  compileCount,
  compileLength,
  compileLongRows,
  compileParquet,
  compileRows,
  compileSize,
  compileSorted,
  compileText,
  compileZones,
  momentsOf,
  type QuerySource,
  type TextRows,
} from '../compile.ts';
import type { Copies } from '../copies.ts';
import { FillTurns } from '../fill-turns.ts';
import { withQueryTimeout } from '../query-timeout.ts';
import { partsBeside } from '../parts.ts';
import type { Room } from '../room.ts';
import type { TableCopy } from '../table-copy.ts';
import { cellTextMax, sheetRowsMax } from './sheet-cells.ts';
import { LongTexts } from './sheet-writer.ts';
import type { TextWriter } from './text-writer.ts';
import { columnsOf, textWriterFor, type FileColumn, type TextFormat } from './text-writers.ts';
import { workbookFile } from './workbook-file.ts';

interface ExporterOptions {
  readonly copies: Copies;
  readonly room: Room;
  readonly columnar: Columnar;
  /** The folder for files that must be complete before they are sent. */
  readonly folder: string;
  /** Time limit of each step, in milliseconds. */
  readonly timeoutMs: number;
}

/** A file of an export. */
export interface Exported {
  readonly version: bigint;
  readonly isCold: boolean;
  /**
   * A part is overwritten when the part after the next one is requested. Rejects if the copy was dropped to make room;
   * then the file stays incomplete.
   */
  readonly parts: AsyncIterable<Uint8Array | string>;
  /** Call it at the end, also if the parts were not read to their end. */
  readonly release: () => Promise<void>;
}

type ExportedFile = Pick<Exported, 'parts' | 'release'>;

/** Limits of a slice, which one statement reads. A slice has at least one row. */
const sliceBytesMax = 8 * 1024 * 1024;
const sliceRowsMax = 61_440;

/** The engine reads this many rows at once, even if fewer are requested. */
const vectorRows = 2048;

/** Sorting all rows, or writing all into one file, may take this many times the time limit of a query. */
const wholeTimes = 20;

export class Exporter {
  readonly #options: ExporterOptions;
  /**
   * A statement that reads many columns takes much memory that the engine does not count, so such statements run one at
   * a time. Other exports get their turn between slices.
   */
  readonly #wide = new FillTurns(1);
  #tables = 0;

  constructor(options: ExporterOptions) {
    this.#options = options;
  }

  /**
   * Exports a table. Rejects with QueryError, and with the reason of `gone`, which aborts when nobody waits any more.
   */
  async export(request: ExportRequest, gone: AbortSignal): Promise<Exported> {
    const query = readRowsQuery(request.query, request.prefix);
    const [table] = await this.#options.copies.take(request, [request.tableId], gone);
    const held = table!;
    const { version, isCold, copy } = held;
    try {
      const source = copy.at(version);
      const file =
        request.format === 'parquet'
          ? await this.#parquet(query, source, copy, gone)
          : await this.#text(request.format, request.csv, query, source, copy, gone);
      return { version, isCold, ...file };
    } finally {
      held.release();
    }
  }

  async #text(
    format: TextFormat,
    csv: CsvForm,
    query: RowsQuery,
    source: QuerySource,
    copy: TableCopy,
    gone: AbortSignal,
  ): Promise<ExportedFile> {
    const columns = columnsOf(query, source);
    const writer = textWriterFor(format, columns, query.fields !== null, csv);
    // Find mistakes in the query before anything is sent.
    compileRows(query, source, { offset: 0, limit: 0 });
    if (format === 'xlsx') await this.#checkSheet(query, source, copy, columns, gone);
    const { begin, before, behind, takesIdBefore: hasIdBefore, end } = writer;
    const rows = {
      query,
      source,
      isVersioned: query.fields?.includes('$version') === true,
      isInOrder: () => copy.isInOrder,
      before,
      behind,
      hasIdBefore,
    };
    const isSorted = query.sort.length > 0;
    const taken = isSorted ? await this.#takeRoom(query, source, copy, gone) : () => undefined;
    const slices = isSorted
      ? this.#sortedSlices(query, rows, copy, taken, writer, gone)
      : this.#slices(rows, copy.end, copy, writer, gone);
    const write = async function* (): AsyncGenerator<Uint8Array | string> {
      yield begin;
      yield* slices;
      yield end;
    };
    // Between slices the copy may be dropped to make room, like a copy that only a continuation holds.
    const release = copy.hold(source.version, 'continuation');
    return {
      parts: format === 'xlsx' ? workbookFile(write()) : write(),
      release: async () => {
        taken(0);
        release();
      },
    };
  }

  /** Rejects with QueryError if a sheet cannot hold the rows or one of their cells. */
  async #checkSheet(
    query: RowsQuery,
    source: QuerySource,
    copy: TableCopy,
    columns: readonly FileColumn[],
    gone: AbortSignal,
  ): Promise<void> {
    const { columnar } = this.#options;
    const instead = 'select fewer rows or columns, or use another format';
    await this.#read(copy, source, gone, 1, async (signal) => {
      const [[count]] = (await columnar.rows(compileCount(query, source), signal)) as [[bigint]];
      if (count >= sheetRowsMax)
        throw new QueryError(
          'limit_exceeded',
          `A sheet can hold ${sheetRowsMax - 1} rows below its header, but the export has ${count}: ${instead}.`,
        );
      if (copy.rowBytesMax <= cellTextMax) return;
      const long = new LongTexts(columns);
      await columnar.texts(compileLongRows(query, source, cellTextMax), signal, (some) => long.add(some));
      if (long.found === null) return;
      const { columnId, rowId } = long.found;
      throw new QueryError(
        'limit_exceeded',
        `A cell of a sheet can hold ${cellTextMax} characters, but column ${JSON.stringify(columnId)} has more in the row ${rowId}: ${instead}.`,
      );
    });
  }

  /** Reserves space for the rows of a query before they are written a second time. */
  async #takeRoom(
    query: RowsQuery,
    source: QuerySource,
    copy: TableCopy,
    gone: AbortSignal,
  ): Promise<(bytes: number) => void> {
    const { columnar, room, timeoutMs } = this.#options;
    const [[bytes]] = (await withQueryTimeout(timeoutMs, gone, (signal) =>
      columnar.rows(compileBytes(query, source), signal),
    )) as [[bigint]];
    return room.take(copy, Number(bytes));
  }

  /**
   * Yields the rows in the order of a query: sorts them into a table, and then reads the table. `taken` changes the
   * reservation to the bytes that the table needs beside the copy.
   */
  async *#sortedSlices(
    query: RowsQuery,
    rows: TextRows,
    copy: TableCopy,
    taken: (bytes: number) => void,
    writer: TextWriter,
    gone: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const { source } = rows;
    const { columnar, room } = this.#options;
    const from = `${copy.catalog}.sorted${(this.#tables += 1)}`;
    try {
      const end = await this.#read(copy, source, gone, wholeTimes, async (signal) => {
        await room.watched(signal, (watched) => columnar.rows(compileSorted(query, source, from), watched));
        room.noteMore(copy);
        taken(0);
        const [[size]] = (await columnar.rows(compileSize(from), signal)) as [[bigint]];
        return size;
      });
      yield* this.#slices(
        { ...rows, query: null, isInOrder: () => true, source: { ...source, from } },
        end,
        copy,
        writer,
        gone,
      );
    } finally {
      if (!copy.isDropped) {
        await columnar.run(`DROP TABLE IF EXISTS ${from}`);
        await copy.save();
        room.noteMore(copy);
      }
    }
  }

  /**
   * Yields the text of rows with numbers below `end`, slice by slice. The next slice is read while one is being sent.
   */
  async *#slices(
    rows: TextRows,
    end: bigint,
    copy: TableCopy,
    writer: TextWriter,
    gone: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const { columnar } = this.#options;
    const { source } = rows;
    const slice = new SliceSize(copy.rowBytesMax);
    let from = 0n;
    const read = (): Promise<Buffer> | null => {
      if (from >= end) return null;
      return this.#read(copy, source, gone, 1, async (signal) => {
        while (slice.mayBeTooLong) {
          const [[length]] = (await columnar.rows(
            compileLength(source, { from, to: from + BigInt(slice.rows) }),
            signal,
          )) as [[bigint]];
          if (slice.fits(Number(length))) break;
        }
        const to = from + BigInt(slice.rows);
        // Write the rows while they are in the caches of the processor.
        await columnar.texts(compileText(rows, { from, to }), signal, (some) => writer.add(some));
        from = to;
        slice.grow();
        return writer.take();
      });
    };
    let next = read();
    while (next !== null) {
      const text = await next;
      next = read();
      // Awaited after this text was taken; until then a failure must not count as unhandled.
      next?.catch(() => undefined);
      yield text;
    }
  }

  async #parquet(query: RowsQuery, source: QuerySource, copy: TableCopy, gone: AbortSignal): Promise<ExportedFile> {
    const { columnar, room, folder, timeoutMs } = this.#options;
    const file = join(folder, `${randomUUID()}.parquet`);
    const ids = columnsOf(query, source).map(({ id }) => id);
    // Find mistakes in the query before rows are read.
    compileParquet(query, source, ids, new Set(), file);
    const taken = await this.#takeRoom(query, source, copy, gone);
    const remove = async (): Promise<void> => {
      await rm(file, { force: true });
      taken(0);
    };
    try {
      await withQueryTimeout(timeoutMs * wholeTimes, gone, (signal) =>
        room.watched(signal, async (watched) => {
          const write = compileParquet(query, source, ids, await this.#zoned(ids, source, watched), file);
          return this.#inTurn(source, copy, watched, async () => columnar.rows(write, watched));
        }),
      );
      taken((await stat(file)).size);
      return { parts: createReadStream(file), release: remove };
    } catch (error) {
      await remove();
      throw error;
    }
  }

  /** The columns of moments that have a value with a zone. */
  async #zoned(ids: readonly string[], source: QuerySource, signal: AbortSignal): Promise<ReadonlySet<string>> {
    const moments = momentsOf(ids, source);
    if (moments.length === 0) return new Set();
    const [found] = (await this.#options.columnar.rows(compileZones(source, moments), signal)) as [boolean[]];
    return new Set(moments.filter((_, at) => found[at]));
  }

  /** Runs work that reads columns. If the table has several parts, only one such work runs at a time. */
  async #inTurn<T>(source: QuerySource, copy: TableCopy, gone: AbortSignal, work: () => Promise<T>): Promise<T> {
    return partsBeside(source.columns.values()).length > 0 ? this.#wide.run(copy.teamId, gone, work) : work();
  }

  /** Runs work that reads a copy, which is held meanwhile. Its time limit is `times` that of a query. */
  async #read<T>(
    copy: TableCopy,
    source: QuerySource,
    gone: AbortSignal,
    times: number,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    if (copy.isDropped || copy.isWanted)
      throw new QueryError(
        'service_unavailable',
        'The export was stopped to make room for other queries. Try again later.',
      );
    const done = copy.hold(source.version, 'query');
    try {
      return await this.#inTurn(source, copy, gone, () =>
        withQueryTimeout(this.#options.timeoutMs * times, gone, work),
      );
    } finally {
      done();
    }
  }
}

/** Adapts the number of rows of a slice, so that their bodies have at most `sliceBytesMax` bytes. */
class SliceSize {
  readonly #safe: number;
  rows: number;

  /** `rowBytesMax` is the size of the longest row. */
  constructor(rowBytesMax: number) {
    const rows = Math.min(Math.max(Math.floor(sliceBytesMax / Math.max(rowBytesMax, 1)), 1), sliceRowsMax);
    this.#safe = rows - (rows > vectorRows ? rows % vectorRows : 0);
    // If few of the rows are long, most slices can have more rows.
    this.rows = Math.max(this.#safe, 1024);
  }

  get mayBeTooLong(): boolean {
    return this.rows > this.#safe;
  }

  /** Whether a slice of this size, whose rows have `bytes`, is small enough. If not, reduces the size. */
  fits(bytes: number): boolean {
    if (bytes <= sliceBytesMax) return true;
    // Take half of the rows that would fit, so that the next rows fit even if they are longer.
    this.rows = Math.max(this.#safe, Math.floor((this.rows * sliceBytesMax) / bytes / 2));
    return false;
  }

  grow(): void {
    this.rows = Math.min(this.rows * 2, Math.max(this.#safe, 1024));
  }
}
