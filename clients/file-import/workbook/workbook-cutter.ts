/**
 * Cuts a sheet of a workbook (.xlsx) into chunks of CSV, as if it had been saved as CSV, but with dates in ISO 8601 and
 * exact numbers.
 */
import type { DelimitedForm } from '../../../src/language/formats/delimited-form.ts';
import { defaultReaderLimits } from '../../../src/language/formats/row-reader-limits.ts';
import {
  ChunkBuilder,
  defaultChunkLimits,
  type Chunk,
  type ChunkLimits,
  type SheetName,
  type WholeFileCutter,
} from '../chunk.ts';
import { requireShort, withShortForm } from '../header-names.ts';
import { longCell } from '../delimited-cutter.ts';
import { MalformedFile } from '../malformed-file.ts';
import type { Source } from '../source.ts';
import { signatureProblem } from '../text.ts';
import type { Sheet } from './parts.ts';
import type { CellError, SheetRow } from './read-sheet.ts';

/** Maximum size of a workbook: its packed bytes are in memory while it is read. */
const workbookBytesMax = 256 * 2 ** 20;

const { rowBytes: recordBytesMax, cellBytes: cellBytesMax } = defaultReaderLimits;

/** Maximum of sheets that a message names. */
const sheetsShown = 20;

/** The options of CSV that also apply to a sheet. */
const formOfSheets = ['columns', 'duplicateColumns', 'types', 'null'] as const;

/** The options of CSV that do not apply to a sheet. */
export function withoutSheetForm(form: DelimitedForm): DelimitedForm {
  return Object.fromEntries(Object.entries(form).filter(([name]) => !formOfSheets.some((of) => of === name)));
}

interface WorkbookCutterOptions {
  /** The name of the sheet to read; null: the first one that is not hidden. */
  readonly sheet: string | null;
  readonly limits?: ChunkLimits | undefined;
  /** Whether cells that are too long for a row are refused. */
  readonly refusesLongCells?: boolean | undefined;
  /** The options for the sheet. Other options of CSV are ignored. */
  readonly form?: DelimitedForm | undefined;
  /** Called with the names of the header. Returns the column IDs of the table for names that differ from their ID. */
  readonly columnsOf?: ((names: readonly string[]) => Readonly<Record<string, string>>) | undefined;
}

export class WorkbookCutter implements WholeFileCutter {
  readonly mediaType = 'text/csv';
  readonly #options: WorkbookCutterOptions;
  readonly #limits: ChunkLimits;
  #form: DelimitedForm;
  #headerLine: number | null = null;
  #sheetNote: string | null = null;
  #sheets: readonly SheetName[] = [];
  #errors = 0;
  #firstError: CellError | null = null;

  constructor(options: WorkbookCutterOptions) {
    this.#options = options;
    this.#limits = options.limits ?? defaultChunkLimits;
    const form = options.form ?? {};
    const other = withoutSheetForm(form);
    this.#form = Object.fromEntries(Object.entries(form).filter(([name]) => !Object.hasOwn(other, name)));
  }

  get form(): DelimitedForm {
    return this.#form;
  }

  /** The row of the sheet with the column names. */
  get headerLine(): number | null {
    return this.#headerLine;
  }

  get sheets(): readonly SheetName[] {
    return this.#sheets;
  }

  get notes(): readonly string[] {
    const { place, error } = this.#firstError ?? {};
    const errors =
      this.#errors === 0
        ? []
        : [
            `${this.#errors === 1 ? 'a cell with the error of a formula is' : `${this.#errors} cells with errors of formulas are`} empty: ${error} in ${place}`,
          ];
    return [...(this.#sheetNote === null ? [] : [this.#sheetNote]), ...errors];
  }

  /** Throws MalformedFile, and the reason of the signal. */
  async *cut(source: Source, signal: AbortSignal): AsyncGenerator<Chunk, void, undefined> {
    const bytes = await wholeOf(source, signal);
    // Loaded on demand, because most imports read no workbook.
    const [{ Archive }, { readWorkbook }, { readSheet }] = await Promise.all([
      import('./archive.ts'),
      import('./parts.ts'),
      import('./read-sheet.ts'),
    ]);
    const archive = await Archive.open(bytes);
    try {
      const workbook = await readWorkbook(archive, signal);
      this.#sheets = workbook.sheets.map(({ name, isHidden }) => ({ name, isHidden }));
      yield* this.#chunks(
        readSheet(archive, workbook, this.#choose(workbook.sheets), (error) => this.#noteError(error), signal),
      );
    } finally {
      await archive.close();
    }
  }

  #choose(sheets: readonly Sheet[]): Sheet {
    if (sheets.length === 0) throw new MalformedFile(null, 'the workbook has no sheet with cells');
    const { sheet } = this.#options;
    if (sheet !== null) {
      const chosen =
        sheets.find(({ name }) => name === sheet) ??
        sheets.find(({ name }) => name.toLowerCase() === sheet.toLowerCase());
      if (chosen === undefined)
        throw new MalformedFile(null, `the workbook has no sheet ${JSON.stringify(sheet)}: it has ${namesOf(sheets)}`);
      return chosen;
    }
    const first = sheets.find(({ isHidden }) => !isHidden) ?? sheets[0]!;
    if (sheets.length > 1)
      this.#sheetNote = `of ${sheets.length} sheets only ${namesOf([first])} is read; the others are ${namesOf(sheets.filter((sheet) => sheet !== first))}`;
    return first;
  }

  #matchColumns(names: readonly string[]): void {
    const { columnsOf } = this.#options;
    if (this.#form.columns !== undefined || columnsOf === undefined) return;
    const columns = columnsOf(names);
    if (Object.keys(columns).length > 0) this.#form = { ...this.#form, columns };
  }

  /** The names of the header, as the chunks have them. Throws MalformedFile. */
  #shortNames(cells: readonly string[]): readonly string[] {
    const { names, form } = withShortForm({ names: cells, form: this.#form });
    this.#form = form;
    requireShort(form);
    return names;
  }

  #noteError(error: CellError): void {
    this.#errors += 1;
    this.#firstError ??= error;
  }

  async *#chunks(rows: AsyncIterable<SheetRow>): AsyncGenerator<Chunk, void, undefined> {
    const chunk = new ChunkBuilder(this.#limits);
    let header: Buffer | null = null;
    let width = 0;
    const nulls = new Set(this.#form.null);
    const close = (): void => {
      if (chunk.rows === 0) chunk.append(header!);
      chunk.close();
    };
    for await (const { number, cells } of rows) {
      // Cells of a sheet have no quotes. A text that means an empty cell must stay unquoted in the chunk.
      const texts: readonly string[] = header === null ? cells : cells.map((cell) => (nulls.has(cell) ? '' : cell));
      if (header === null) this.#matchColumns(cells);
      const record: Buffer = Buffer.from(`${recordOf(header === null ? this.#shortNames(cells) : texts, width)}\n`);
      if (record.length > recordBytesMax)
        throw new MalformedFile(number, `a row must not be longer than ${recordBytesMax} bytes`);
      const long = this.#options.refusesLongCells === true ? indexOfLong(cells, record.length) : -1;
      if (long !== -1) throw new MalformedFile(number, longCell(long));
      if (header === null) {
        header = record;
        width = cells.length;
        this.#headerLine = number;
        continue;
      }
      if (chunk.isFull(record.length)) close();
      if (chunk.rows === 0) chunk.append(header);
      chunk.append(record);
      chunk.addRow(number);
      yield* chunk.takeFull();
    }
    if (header === null) throw new MalformedFile(1, 'the sheet is empty: its first row must name the columns');
    if (chunk.hasRest) close();
    yield* chunk.takeFull();
  }
}

/** The bytes of a file, in memory, because its parts are not in the order in which they are read. */
async function wholeOf(source: Source, signal: AbortSignal): Promise<Blob> {
  const tooLarge = (): MalformedFile =>
    new MalformedFile(null, `a workbook must not be larger than ${workbookBytesMax / 2 ** 20} MiB: save it as CSV`);
  if ((source.size ?? 0) > workbookBytesMax) throw tooLarge();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const piece of source.pieces(signal)) {
    length += piece.length;
    if (length > workbookBytesMax) throw tooLarge();
    pieces.push(Uint8Array.from(piece));
  }
  const beginning = Buffer.concat(pieces.slice(0, 1)).subarray(0, 16);
  const problem = signatureProblem(beginning, 'xlsx');
  if (problem !== null) throw new MalformedFile(null, problem);
  return new Blob(pieces);
}

/** The names of sheets, and which of them are hidden. */
function namesOf(sheets: readonly Sheet[]): string {
  const names = sheets
    .slice(0, sheetsShown)
    .map(({ name, isHidden }) => `${JSON.stringify(name)}${isHidden ? ' (hidden)' : ''}`);
  const more = sheets.length - names.length;
  return `${names.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}

/** The index of the cell that is too long for a row; -1 if there is none. */
function indexOfLong(cells: readonly string[], recordBytes: number): number {
  return recordBytes <= cellBytesMax ? -1 : cells.findIndex((cell) => Buffer.byteLength(cell) > cellBytesMax);
}

/** A record with at least `width` cells. The service would report a shorter line. */
function recordOf(cells: readonly string[], width: number): string {
  return cells.map(quoted).join(',') + ','.repeat(Math.max(width - cells.length, 0));
}

/** A cell in quotes if it has marks, or characters that mean something at the beginning or the end of a text. */
function quoted(cell: string): string {
  return /^[^\s",;=\p{Cc}]*$/u.test(cell) ? cell : `"${cell.replaceAll('"', '""')}"`;
}
