/** What the user is told while a file is imported, in terms of the flags. */
import { OutcomeUnknown, RefusedRow } from '../../../clients/file-import/import-errors.ts';
import { MalformedFile } from '../../../clients/file-import/malformed-file.ts';
import { describeServerError } from '../client/server-error.ts';
import { showNumber } from '../rows-progress.ts';
import { UserError } from '../user-error.ts';

const delimiterNames: Readonly<Record<string, string>> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'vertical bars' };

/** What the user is told of a delimiter that was recognised. */
export function describeDelimiter(delimiter: string): string {
  return `By its first lines the file has ${delimiterNames[delimiter] ?? JSON.stringify(delimiter)} between its cells. If that is wrong, give --delimiter.`;
}

export function describeShortLines(count: number): string {
  return `${count === 1 ? 'A line has' : `${showNumber(count)} lines have`} fewer cells than the header: the columns of the missing cells are empty.`;
}

/** What the user is told of columns that were found by the names that they are shown under. */
export function describeMatches(columns: Readonly<Record<string, string>>, byDisplayName: readonly string[]): string {
  const pairs = byDisplayName.map((name) => `${JSON.stringify(name)} is ${columns[name]}`);
  return `By their display names: ${pairs.join(', ')}. If that is wrong, give --column.`;
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
  if (error instanceof MalformedFile) return new UserError(`${file}${error.line === null ? '' : `, line ${error.line}`}: ${error.reason}${hintOf(error)}`, { cause: error });
  if (error instanceof RefusedRow) {
    const { line, row } = error.place;
    return new UserError(`${file}, line ${line}${row === null ? '' : ` (row ${row})`}: ${describeServerError(error.cause)}`, { cause: error });
  }
  if (!(error instanceof OutcomeUnknown)) return error;
  return new UserError(`${describeServerError(error.cause)} Whether the import has taken effect is not known: look at the table.`, { cause: error });
}

function hintOf({ encoding }: MalformedFile): string {
  if (encoding === null) return '';
  return `; if it is of another encoding, give --encoding${encoding === 'utf-8' ? ', such as windows-1252' : ''}`;
}
