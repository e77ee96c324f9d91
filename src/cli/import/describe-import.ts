/** What the user is told while a file is imported, in terms of the flags. */
import { OutcomeUnknown, RefusedRow } from '../../../clients/file-import/import-errors.ts';
import { MalformedFile } from '../../../clients/file-import/malformed-file.ts';
import type { PreviewedColumn } from '../../../clients/file-import/preview.ts';
import { becauseOfCells, type TextColumn } from '../../language/formats/text-cells.ts';
import { describeServerError } from '../client/server-error.ts';
import { showNumber } from '../rows-progress.ts';
import { UserError } from '../user-error.ts';
import { flagOfForm } from './import-flags.ts';

const delimiterNames: Readonly<Record<string, string>> = {
  ',': 'commas',
  ';': 'semicolons',
  '\t': 'tabs',
  '|': 'vertical bars',
};

/** What the user is told of a delimiter that was recognised. */
export function describeDelimiter(delimiter: string): string {
  return `By its first lines the file has ${delimiterNames[delimiter] ?? JSON.stringify(delimiter)} between its cells. If that is wrong, give --delimiter.`;
}

export function describeShortLines(count: number): string {
  return `${count === 1 ? 'A line has' : `${showNumber(count)} lines have`} fewer cells than the header: the columns of the missing cells are empty.`;
}

/** So many columns are named that were found by the names that they are shown under. */
const matchesShown = 10;

/** What the user is told of columns that were found by the names that they are shown under. */
export function describeMatches(columns: Readonly<Record<string, string>>, byDisplayName: readonly string[]): string {
  const pairs = byDisplayName.slice(0, matchesShown).map((name) => `${JSON.stringify(name)} is ${columns[name]}`);
  const more = byDisplayName.length - pairs.length;
  const others = more === 0 ? '' : ` and ${showNumber(more)} more`;
  return `By their display names: ${pairs.join(', ')}${others}. If that is wrong, give --column.`;
}

const others: Readonly<Record<TextColumn['kind'], readonly [one: string, many: string]>> = {
  number: ['is a number', 'are numbers'],
  boolean: ['is true or false', 'are true or false'],
  date: ['is a date', 'are dates'],
  dateTime: ['is a date or a moment', 'are dates or moments'],
};

/**
 * What the user is told of a column that came to be text: `age: text because of 1 of 3 cells: NA in line 2. --null=NA
 * would help.`
 */
export function describeText(column: TextColumn): string {
  return `${column.id}: ${becauseOfCells}${showNumber(column.misfits)} of ${showNumber(column.filled)} cells: ${describeCells(column)}.${describeHelp(column)}`;
}

/**
 * The same of a file that is not imported: `age: string; 2 of 3 cells are numbers; NA in line 2. --null=NA would help.`
 */
export function describeType({ id, type }: PreviewedColumn, column: TextColumn | undefined): string {
  if (column === undefined) return `${id}: ${type}`;
  const fitting = column.filled - column.misfits;
  const howMany = `${showNumber(fitting)} of ${showNumber(column.filled)} cells ${others[column.kind][fitting === 1 ? 0 : 1]}`;
  return `${id}: ${type}; ${howMany}; ${describeCells(column)}.${describeHelp(column)}`;
}

/** What the user is told if the cells are not known, because the file cannot be read again. `names`: of the columns. */
export function describeTexts(names: readonly string[]): string {
  return `Because of some of their cells these came to be text: ${names.join(', ')}. Which cells, "tablog import FILE --show-types" says of a file.`;
}

/** The first cells that are in the way, with their lines. Texts are as JSON if they are not plain. */
function describeCells({ first, misfits }: TextColumn): string {
  const shown = first.map(
    ({ text, place }) =>
      `${/^[\w.,:/+%$#?()-]+$/.test(text) ? text : JSON.stringify(text)} in line ${showNumber(place)}`,
  );
  return `${shown.join(', ')}${misfits > first.length ? ' and others' : ''}`;
}

function describeHelp({ help, helped, misfits }: TextColumn): string {
  const flags = Object.entries(help).map(
    ([name, value]) => `${flagOfForm({ [name]: value })}=${quoted([value].flat().join(','))}`,
  );
  if (flags.length === 0) return '';
  return ` ${flags.join(' ')} would help${helped < misfits ? ` with ${showNumber(helped)} of them` : ''}.`;
}

/** As a shell takes it. */
function quoted(text: string): string {
  return /^[\w.,/-]+$/.test(text) ? text : `'${text}'`;
}

/** What the user is told of a note of the service. */
export function describeNote(note: string): string {
  return `${note}.`;
}

export function describeDeleted(stashID: string): string {
  return `The stash ${stashID} has been deleted.`;
}

export function describeLeftOver(stashID: string, error: Error): string {
  return `The stash ${stashID} could not be deleted: ${describeServerError(error)} The service removes it when its time is over (STASH_LIFE_MS).`;
}

/** The UserError for why a file was not imported; other errors as they are. */
export function importFailure(error: unknown, file: string): unknown {
  if (error instanceof MalformedFile)
    return new UserError(
      `${file}${error.line === null ? '' : `, line ${error.line}`}: ${error.reason}${hintOf(error)}`,
      { cause: error },
    );
  if (error instanceof RefusedRow) {
    const { line, row } = error.place;
    return new UserError(
      `${file}, line ${line}${row === null ? '' : ` (row ${row})`}: ${describeServerError(error.cause)}`,
      { cause: error },
    );
  }
  if (!(error instanceof OutcomeUnknown)) return error;
  return new UserError(
    `${describeServerError(error.cause)} It is unknown whether the import took effect: check the table.`,
    { cause: error },
  );
}

function hintOf({ encoding }: MalformedFile): string {
  if (encoding === null) return '';
  return `; if it is of another encoding, give --encoding${encoding === 'utf-8' ? ', such as windows-1252' : ''}`;
}
