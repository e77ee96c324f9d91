/** Messages to the user during an import, in terms of the flags. */
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

/** The message for a delimiter that was recognised. */
export function describeDelimiter(delimiter: string): string {
  return `The file seems to have ${delimiterNames[delimiter] ?? JSON.stringify(delimiter)} between its cells. If that is wrong, give --delimiter.`;
}

export function describeShortLines(count: number): string {
  return `${count === 1 ? 'A line has' : `${showNumber(count)} lines have`} fewer cells than the header: the columns of the missing cells are empty.`;
}

/** How many columns `describeMatches` names. */
const matchesShown = 10;

/** The message for columns that were found by their display names. */
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
 * The message for a column that became text: `age: text because of 1 of 3 cells: NA in line 2. --null=NA would help.`
 */
export function describeText(column: TextColumn): string {
  return `${column.id}: ${becauseOfCells}${showNumber(column.misfits)} of ${showNumber(column.filled)} cells: ${describeCells(column)}.${describeHelp(column)}`;
}

/**
 * The line of `--show-types` for a column: `age: string; 2 of 3 cells are numbers; NA in line 2. --null=NA would help.`
 */
export function describeType({ id, type }: PreviewedColumn, column: TextColumn | undefined): string {
  if (column === undefined) return `${id}: ${type}`;
  const fitting = column.filled - column.misfits;
  const howMany = `${showNumber(fitting)} of ${showNumber(column.filled)} cells ${others[column.kind][fitting === 1 ? 0 : 1]}`;
  return `${id}: ${type}; ${howMany}; ${describeCells(column)}.${describeHelp(column)}`;
}

/** The message if the cells are unknown, because stdin cannot be read again. `names` are the names of the columns. */
export function describeTexts(names: readonly string[]): string {
  return `These columns became text because of some cells: ${names.join(', ')}. To see the cells, save the input as a file and run "tablog import FILE --show-types".`;
}

/** The first cells that do not fit the other cells' type, with their lines. Unusual texts are shown as JSON. */
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

/** Quotes a text for a shell. */
function quoted(text: string): string {
  return /^[\w.,/-]+$/.test(text) ? text : `'${text}'`;
}

/** A note of the service as a sentence. */
export function describeNote(note: string): string {
  return `${note}.`;
}

export function describeDeleted(stashID: string): string {
  return `The stash ${stashID} has been deleted.`;
}

export function describeLeftOver(stashID: string, error: Error): string {
  return `The stash ${stashID} could not be deleted: ${describeServerError(error)} The service removes it when it expires (STASH_LIFE_MS).`;
}

/** Converts an error that is about the file or the service to a UserError. Returns other errors as they are. */
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
    `${describeServerError(error.cause)} It is unknown whether the import took effect: look at the table.`,
    { cause: error },
  );
}

function hintOf({ encoding }: MalformedFile): string {
  if (encoding === null) return '';
  return `; if it has another encoding, give --encoding${encoding === 'utf-8' ? ', such as windows-1252' : ''}`;
}
