/** The flags of `tablog import` that say how the text of a file is to be read. */
import { InvalidArgumentError } from 'commander';
import type { DelimitedForm } from '../../formats/delimited-form.ts';
import { conflictIn, delimiterOf, isMark, type FormConflict } from '../../formats/dialect.ts';
import { UserError } from '../user-error.ts';

/** Flags that say how CSV or TSV is written. */
export interface FormFlags {
  readonly header: boolean;
  readonly delimiter?: string;
  readonly quote?: string;
  readonly escape?: string;
  readonly lenient?: boolean;
  readonly skipLines?: number;
  readonly comment?: string;
  readonly renameDuplicates?: boolean;
  /** Pairs of a name in the file and the ID of a column. */
  readonly column?: readonly (readonly [name: string, id: string])[];
}

/** The form that the flags say. Throws UserError for flags that cannot be beside each other. `usual`: the delimiter of the format. */
export function formOfFlags(flags: FormFlags, usual: string): DelimitedForm {
  const { header, delimiter, quote, escape, lenient, skipLines, comment, renameDuplicates, column } = flags;
  const form: DelimitedForm = {
    ...(!header && { header: 'absent' }),
    ...(delimiter !== undefined && { delimiter }),
    ...(quote !== undefined && { quote }),
    ...(escape !== undefined && { escape }),
    ...(lenient && { lenient }),
    ...(skipLines !== undefined && { skipLines }),
    ...(comment !== undefined && { comment }),
    ...(renameDuplicates && { duplicateColumns: 'rename' }),
    ...(column !== undefined && { columns: Object.assign(Object.create(null) as object, Object.fromEntries(column)) }),
  };
  const conflict = conflictIn(form, usual);
  if (conflict !== null) throw new UserError(describeConflict(conflict));
  return form;
}

function describeConflict({ name, reason }: FormConflict): string {
  return `--${name}: it ${reason}.`;
}

/** The flag that says something of CSV or TSV, with its dashes; null if none does. */
export function flagOfForm(form: DelimitedForm): string | null {
  const [name] = Object.keys(form) as (keyof DelimitedForm)[];
  if (name === undefined) return null;
  const special: Partial<Record<keyof DelimitedForm, string>> = { header: 'no-header', duplicateColumns: 'rename-duplicates', columns: 'column', types: 'type' };
  return `--${special[name] ?? name.replaceAll(/[A-Z]/g, (capital) => `-${capital.toLowerCase()}`)}`;
}

/** Parses `--delimiter`. */
export function parseDelimiter(text: string): string {
  const found = delimiterOf(text);
  if (found === null) throw new InvalidArgumentError('It must be one character, such as ; or |, or tab.');
  return found;
}

/** Parses `--quote`. */
export function parseQuote(text: string): string {
  return text === 'none' ? text : parseMark(text);
}

/** Parses `--escape` and `--comment`. */
export function parseMark(text: string): string {
  if (!isMark(text)) throw new InvalidArgumentError('It must be one character.');
  return text;
}

/** Parses one more `--column`: what is behind the last equals sign is the ID. */
export function addColumn(text: string, before: readonly (readonly [name: string, id: string])[] = []): readonly (readonly [name: string, id: string])[] {
  const at = text.lastIndexOf('=');
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('It must be a name in the file and the ID of a column, such as "Full name=name".');
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

/** Parses `--encoding`: a name that the Encoding Standard has. */
export function parseEncoding(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    // TextDecoder throws only for a name that it does not know.
    throw new InvalidArgumentError('It must be the name of an encoding, such as utf-8, windows-1252, latin1 or utf-16le.');
  }
}
