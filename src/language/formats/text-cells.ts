/**
 * Finds columns that became text because of some cells, while most cells are numbers, booleans, dates or times. Reports
 * these cells and the options that would help (docs/spec/decisions.md 2, "Notes"). A column takes little memory however
 * many cells it has.
 */
import { excerptOf } from '../values/build-profile.ts';
import { classifyCell } from '../values/cell-value.ts';
import { noTypes, type ColumnType } from '../values/column-type.ts';
import type { CellForm } from '../values/rule.ts';
import { momentOfText, numberOfText } from '../values/spelled-cells.ts';
import type { DelimitedForm } from './delimited-form.ts';
import { dateFormats } from '../values/date-format.ts';

const kinds = ['number', 'boolean', 'date', 'dateTime'] as const;
type Kind = (typeof kinds)[number];
const decimals = ['.', ','] as const;

/** Texts that usually mean an empty cell. */
const nullTexts = [
  'NA',
  'N/A',
  '#N/A',
  'n/a',
  'na',
  'NaN',
  'nan',
  'NULL',
  'Null',
  'null',
  '(null)',
  'None',
  'none',
  'nil',
  'missing',
  '\\N',
  '-',
  '--',
  '.',
  '..',
  '?',
] as const;
const nullTextLengthMax = Math.max(...nullTexts.map((text) => text.length));

const shownCells = 3;
/**
 * After so many cells (key), at least so many (value) must be something other than text. Otherwise the column is not
 * watched any more.
 */
const otherCellsAtLeast: ReadonlyMap<number, number> = new Map([
  [100, 1],
  [1_000, 100],
]);

interface CellInTheWay {
  /** The place from `TextCells.placeOf`. */
  readonly place: number;
  /** At most 60 characters. */
  readonly text: string;
}

export interface TextColumn {
  readonly id: string;
  /** The kind of the other cells. */
  readonly kind: Kind;
  /** How many cells are not empty, and how many of these are of another kind. */
  readonly filled: number;
  readonly misfits: number;
  /** The first three cells of another kind. */
  readonly first: readonly CellInTheWay[];
  /**
   * Options with which `helped` of the misfits would have the column's kind, or be empty. Empty: nothing would help.
   */
  readonly help: Pick<DelimitedForm, 'null' | 'decimal' | 'dateFormat'>;
  readonly helped: number;
}

/** Watches the columns of one body, or of several bodies that are one file. */
export class TextCells {
  /** Names the place of a row (from 0, in its body). */
  placeOf: (row: number) => number = (row) => row + 1;
  readonly #columns = new Map<string, ColumnWatch>();

  /** The column with this ID. `form`: how its cells are written. */
  column(id: string, form: CellForm): ColumnWatch {
    const known = this.#columns.get(id);
    if (known !== undefined) return known;
    const column = new ColumnWatch(id, form, this);
    this.#columns.set(id, column);
    return column;
  }

  /**
   * The text columns of which at least half of the cells are something else, or would be with the right options. Texts
   * that usually mean an empty cell do not count. In order of appearance.
   */
  take(): TextColumn[] {
    return [...this.#columns.values()].map((column) => column.judge()).filter((column) => column !== null);
  }
}

export class ColumnWatch {
  /** Whether the column certainly needs no remark. */
  isSettled = false;
  readonly #id: string;
  readonly #form: CellForm;
  readonly #place: Pick<TextCells, 'placeOf'>;
  #filled = 0;
  /** How many cells are of each kind. */
  readonly #counts: Record<Kind | 'string', number> = { number: 0, boolean: 0, date: 0, dateTime: 0, string: 0 };
  readonly #first: Record<Kind | 'string', CellInTheWay[]> = {
    number: [],
    boolean: [],
    date: [],
    dateTime: [],
    string: [],
  };
  /** How many texts would be numbers, or dates and times, with each option. */
  readonly #decimals = new Map<'.' | ',', number>();
  readonly #formats = new Map<(typeof dateFormats)[number], { moments: number; times: number }>();
  readonly #nulls = new Map<string, number>();

  constructor(id: string, form: CellForm, place: Pick<TextCells, 'placeOf'>) {
    this.#id = id;
    this.#form = form;
    this.#place = place;
  }

  /** Adds a cell that is not empty. `natural`: its natural type, if it is known. */
  add(text: string, row: number, natural: ColumnType | null): void {
    // Cells have one of these natural types.
    const kind = (natural ?? classifyCell(text, noTypes, this.#form).natural) as Kind | 'string';
    this.#filled += 1;
    this.#counts[kind] += 1;
    const first = this.#first[kind];
    if (first.length < shownCells) first.push({ place: this.#place.placeOf(row), text: excerptOf(text) });
    if (kind === 'string') this.#addText(text);
    const least = otherCellsAtLeast.get(this.#filled);
    if (least !== undefined && this.#filled - this.#texts() < least) this.isSettled = true;
  }

  /** How many cells are text with every option. */
  #texts(): number {
    const said = Math.max(
      0,
      ...this.#decimals.values(),
      ...Array.from(this.#formats.values(), ({ moments }) => moments),
    );
    return this.#counts.string - said - this.#nullCount();
  }

  #nullCount(): number {
    return this.#nulls.values().reduce((sum, count) => sum + count, 0);
  }

  #addText(text: string): void {
    if (/^\d+$/.test(text)) {
      // A code: text with every option.
      this.isSettled = true;
    } else if (text.length <= nullTextLengthMax && (nullTexts as readonly string[]).includes(text)) {
      this.#nulls.set(text, (this.#nulls.get(text) ?? 0) + 1);
    } else if (/^[-+.,\d]/.test(text)) {
      if (this.#form.numbers === 'plain') {
        for (const decimal of decimals)
          if (isNumber(text, decimal)) this.#decimals.set(decimal, (this.#decimals.get(decimal) ?? 0) + 1);
      }
      for (const format of this.#form.dateFormat === null ? dateFormats : []) {
        const moment = momentOfText(text, format);
        if (moment === undefined) continue;
        const { moments = 0, times = 0 } = this.#formats.get(format) ?? {};
        this.#formats.set(format, { moments: moments + 1, times: times + (moment.includes('T') ? 1 : 0) });
      }
    }
  }

  /** Null if the column is no text column, or most of its cells are text. */
  judge(): TextColumn | null {
    const { number, boolean, date, dateTime } = this.#counts;
    const filled = this.#filled;
    if (this.isSettled || filled === 0 || [number, boolean, date + dateTime].includes(filled)) return null;
    const nullCount = this.#nullCount();
    const readings: { kind: Kind; fitting: number; said: number; help: TextColumn['help'] }[] = [
      { kind: 'number', fitting: number, said: 0, help: {} },
      { kind: 'boolean', fitting: boolean, said: 0, help: {} },
      { kind: dateTime > 0 ? 'dateTime' : 'date', fitting: date + dateTime, said: 0, help: {} },
      ...Array.from(this.#decimals, ([decimal, said]) => ({
        kind: 'number' as const,
        fitting: number,
        said: this.#keepsNumbers(decimal) ? said : 0,
        help: { decimal },
      })),
      ...Array.from(this.#formats, ([dateFormat, { moments, times }]) => ({
        kind: dateTime + times > 0 ? ('dateTime' as const) : ('date' as const),
        fitting: date + dateTime,
        said: moments,
        help: { dateFormat },
      })),
    ];
    const best = readings.reduce((a, b) => (b.fitting + b.said > a.fitting + a.said ? b : a));
    const { kind, fitting, said, help } = best;
    if (2 * (fitting + said) < filled - nullCount || fitting + said === 0) return null;
    const others = (['number', 'boolean', 'date', 'dateTime', 'string'] as const).filter(
      (one) => one !== kind && !(kind === 'dateTime' && one === 'date'),
    );
    const first = others
      .flatMap((one) => this.#first[one])
      .sort((a, b) => a.place - b.place)
      .slice(0, shownCells);
    return {
      id: this.#id,
      kind,
      filled,
      misfits: filled - fitting,
      first,
      help: { ...help, ...(nullCount > 0 && { null: [...this.#nulls.keys()] }) },
      helped: said + nullCount,
    };
  }

  /** Whether the first numbers stay numbers with this decimal separator. */
  #keepsNumbers(decimal: '.' | ','): boolean {
    return this.#first.number.every(({ text }) => isNumber(text, decimal));
  }
}

function isNumber(text: string, decimal: '.' | ','): boolean {
  return numberOfText(text.trim(), decimal) !== undefined;
}

/** The beginning of the note on such a column, after its ID and `: `. */
export const becauseOfCells = 'text because of ';

/**
 * The note on such a column, in ASCII and without semicolons: `age: text because of 1 of 3 cells, such as NA in row 2 -
 * null=NA would help`.
 */
export function noteText({ id, filled, misfits, first: [cell], help, helped }: TextColumn): string {
  const parameters = Object.entries(help).map(([name, value]) => `${name}=${[value].flat().join(',')}`);
  const howMany = helped < misfits ? ` with ${helped} of them` : '';
  const hint = parameters.length === 0 ? '' : ` - ${parameters.join(' and ')} would help${howMany}`;
  return inAscii(
    `${id}: ${becauseOfCells}${misfits} of ${filled} cells, such as ${cell!.text} in row ${cell!.place}${hint}`,
  );
}

/** Escapes characters that a note must not contain. */
function inAscii(text: string): string {
  return text.replaceAll(/[^ -~]|;/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
