/** Reads the rows of a sheet, with a text for each cell. */
import { defaultReaderLimits } from '../../../src/language/formats/row-reader-limits.ts';
import { MalformedFile } from '../malformed-file.ts';
import type { Archive } from './archive.ts';
import { momentText } from './moments.ts';
import type { Sheet, Workbook } from './parts.ts';
import { joinedText, readXml, TextOfRuns, unescapeText, type Attributes, type XmlVisitor } from './read-xml.ts';

export interface SheetRow {
  /** The number of the row in the sheet, from 1. */
  readonly number: number;
  /** The cells from the first column to the last one with a text. */
  readonly cells: readonly string[];
}

/** A cell with the error of a formula. */
export interface CellError {
  /** The place of the cell, such as `C5`. */
  readonly place: string;
  /** The error, such as `#N/A`. */
  readonly error: string;
}

/** Maximum of rows in a sheet (https://support.microsoft.com/office/1672b34d-7043-467e-8e27-269d656771c3). */
const rowsMax = 1_048_576;
/** A sheet may have 16,384 columns. The service takes fewer. */
const { columns: columnsMax, rowBytes: rowBytesMax } = defaultReaderLimits;

/** A double as XML Schema spells it. JavaScript accepts other spellings, such as `0x10`. */
const numberPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const booleans: Readonly<Record<string, boolean>> = { '1': true, 'true': true, '0': false, 'false': false };

/**
 * Yields the rows that have texts, in order. A formula gives the value that was saved with it; an error gives an empty
 * cell. Throws MalformedFile, and the reason of the signal.
 */
export async function* readSheet(
  archive: Archive,
  workbook: Workbook,
  { name, part }: Sheet,
  onError: (error: CellError) => void,
  signal: AbortSignal,
): AsyncGenerator<SheetRow, void, undefined> {
  if (part === null)
    throw new MalformedFile(null, `the workbook does not say where its sheet ${JSON.stringify(name)} is`);
  const visitor = new SheetVisitor(workbook, onError);
  for await (const _ of readXml(archive.text(part, 'sheet', signal), part, visitor)) yield* visitor.take();
}

class SheetVisitor implements XmlVisitor {
  readonly #workbook: Workbook;
  readonly #onError: (error: CellError) => void;
  #rows: SheetRow[] = [];
  #row = 0;
  #cells: string[] = [];
  #column = 0;
  #attributes: Attributes = {};
  /** Whether the reader is where the rows are. After them, controls have tags with the same names. */
  #isData = false;
  #isValue = false;
  /** How many characters the texts of the row have. */
  #rowLength = 0;
  /** Null: the cell has no value. */
  #value: string | null = null;
  readonly #runs = new TextOfRuns();

  constructor(workbook: Workbook, onError: (error: CellError) => void) {
    this.#workbook = workbook;
    this.#onError = onError;
  }

  /** The rows since the last call. */
  take(): SheetRow[] {
    const rows = this.#rows;
    this.#rows = [];
    return rows;
  }

  open(tag: string, attributes: Attributes): void {
    if (tag === 'sheetData') this.#isData = true;
    if (!this.#isData) return;
    switch (tag) {
      case 'row':
        this.#beginRow(attributes['r']);
        break;
      case 'c':
        this.#beginCell(attributes);
        break;
      case 'v':
        if (this.#value !== null) throw this.#refused('has several values');
        this.#isValue = true;
        this.#value = '';
        break;
      default:
        this.#runs.open(tag);
    }
  }

  close(tag: string): void {
    if (tag === 'sheetData') this.#isData = false;
    if (!this.#isData) return;
    switch (tag) {
      case 'row':
        if (this.#cells.length > 0) this.#rows.push({ number: this.#row, cells: this.#cells });
        break;
      case 'c':
        this.#endCell();
        break;
      case 'v':
        this.#isValue = false;
        break;
      default:
        this.#runs.close(tag);
    }
  }

  text(text: string): void {
    if (this.#isValue) this.#value = joinedText(this.#value!, text);
    else this.#runs.add(text);
  }

  #beginRow(given: string | undefined): void {
    const number = given === undefined ? this.#row + 1 : Number(given);
    if (!(number > this.#row && number <= rowsMax && Number.isInteger(number)))
      throw new MalformedFile(null, `the sheet has a row ${given ?? number} after row ${this.#row}`);
    this.#row = number;
    this.#cells = [];
    this.#rowLength = 0;
    this.#column = 0;
  }

  #beginCell(attributes: Attributes): void {
    const { r: place } = attributes;
    const column = place === undefined ? this.#column + 1 : columnOf(place);
    if (!(column > this.#column))
      throw new MalformedFile(this.#row, `the sheet has a cell ${place ?? column} after column ${this.#column}`);
    this.#column = column;
    this.#attributes = attributes;
    this.#value = null;
    this.#runs.text = '';
  }

  #endCell(): void {
    const text = this.#cellText();
    if (text === '') return;
    if (this.#column > columnsMax)
      throw new MalformedFile(
        this.#row,
        `a row must not have more than ${columnsMax} columns: ${this.#place} has a value`,
      );
    this.#rowLength += text.length;
    if (this.#rowLength > rowBytesMax)
      throw new MalformedFile(this.#row, `a row must not be longer than ${rowBytesMax} bytes`);
    while (this.#cells.length < this.#column - 1) this.#cells.push('');
    this.#cells.push(text);
  }

  get #place(): string {
    return `${lettersOf(this.#column)}${this.#row}`;
  }

  #refused(what: string): MalformedFile {
    return new MalformedFile(this.#row, `the cell ${this.#place} ${what}`);
  }

  #cellText(): string {
    const { t: type = 'n', s: format } = this.#attributes;
    const value = this.#value;
    if (value === null || type === 'inlineStr') {
      // Some programs leave out the type of a cell with a text, or write the text as its value.
      const text = this.#runs.take();
      if (text !== '' || value === null) return text;
    }
    const trimmed = value.trim();
    switch (type) {
      case 'inlineStr':
      case 'str':
        return unescapeText(value);
      // A date in ISO 8601.
      case 'd':
        return trimmed;
      case 'e':
        this.#onError({ place: this.#place, error: trimmed });
        return '';
      case 's':
        return trimmed === '' ? '' : this.#sharedText(trimmed);
      case 'b':
        return trimmed === '' ? '' : this.#booleanText(trimmed);
      case 'n':
        return trimmed === '' ? '' : this.#numberText(trimmed, format);
      default:
        throw this.#refused(`has the unknown type ${JSON.stringify(type)}`);
    }
  }

  #sharedText(value: string): string {
    const text = /^\d+$/.test(value) ? this.#workbook.texts[Number(value)] : undefined;
    if (text === undefined) throw this.#refused(`refers to the shared text ${value}, which the workbook does not have`);
    return text;
  }

  #booleanText(value: string): string {
    if (!Object.hasOwn(booleans, value))
      throw this.#refused(`has ${JSON.stringify(value)}, which is neither true nor false`);
    return String(booleans[value]);
  }

  #numberText(value: string, style: string | undefined): string {
    const number = numberPattern.test(value) ? Number(value) : NaN;
    if (!Number.isFinite(number)) throw this.#refused(`has ${JSON.stringify(value)}, which is not a number`);
    const format = style === undefined ? null : (this.#workbook.formats[Number(style)] ?? null);
    const moment = format === null ? null : momentText(number, format, this.#workbook.epoch);
    if (moment !== null) return moment;
    // Programs other than Excel write integers that a double cannot hold.
    return /^-?\d+$/.test(value) && !Number.isSafeInteger(number) ? value : String(number);
  }
}

/** The number of a column by its letters, from 1. */
function columnOf(place: string): number {
  let column = 0;
  for (const letter of /^\$?[A-Za-z]{1,3}/.exec(place)?.[0].replace('$', '').toUpperCase() ?? '')
    column = column * 26 + letter.charCodeAt(0) - 64;
  return column;
}

function lettersOf(column: number): string {
  return column === 0 ? '' : lettersOf(Math.floor((column - 1) / 26)) + String.fromCharCode(65 + ((column - 1) % 26));
}
