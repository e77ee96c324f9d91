/** Parses the flags of `tablog import` for reading a file. */
import { InvalidArgumentError } from 'commander';
import type { DelimitedForm } from '../../language/formats/delimited-form.ts';
import type { DateFormat } from '../../language/values/date-format.ts';
import { conflictIn, delimiterOf, isMark, type FormConflict } from '../../language/formats/dialect.ts';
import { columnTypes, scalarKinds, type ColumnType } from '../../language/values/column-type.ts';
import { UserError } from '../user-error.ts';

/** Flags for the form of CSV or TSV. */
export interface FormFlags {
  readonly header: boolean;
  readonly delimiter?: string;
  readonly quote?: string;
  readonly escape?: string;
  readonly lenient?: boolean;
  readonly skipLines?: number;
  readonly comment?: string;
  readonly renameDuplicates?: boolean;
  readonly null?: readonly string[];
  readonly decimal?: '.' | ',';
  readonly dateFormat?: DateFormat;
  /** Pairs of the ID of a column and its type. */
  readonly type?: readonly (readonly [id: string, type: ColumnType])[];
  /** Pairs of a name in the file and the ID of a column. */
  readonly column?: readonly (readonly [name: string, id: string])[];
}

/**
 * The form of the flags. `usual` is the default delimiter of the format. Throws UserError for flags that exclude each
 * other.
 */
export function formOfFlags(flags: FormFlags, usual: string): DelimitedForm {
  const {
    header,
    delimiter,
    quote,
    escape,
    lenient,
    skipLines,
    comment,
    renameDuplicates,
    column,
    null: nulls,
    decimal,
    dateFormat,
    type,
  } = flags;
  const form: DelimitedForm = {
    ...(!header && { header: 'absent' }),
    ...(delimiter !== undefined && { delimiter }),
    ...(quote !== undefined && { quote }),
    ...(escape !== undefined && { escape }),
    ...(lenient && { lenient }),
    ...(skipLines !== undefined && { skipLines }),
    ...(comment !== undefined && { comment }),
    ...(renameDuplicates && { duplicateColumns: 'rename' }),
    ...(nulls !== undefined && { null: nulls }),
    ...(decimal !== undefined && { decimal }),
    ...(dateFormat !== undefined && { dateFormat }),
    ...(type !== undefined && { types: Object.assign(Object.create(null) as object, Object.fromEntries(type)) }),
    ...(column !== undefined && { columns: Object.assign(Object.create(null) as object, Object.fromEntries(column)) }),
  };
  const conflict = conflictIn(form, usual);
  if (conflict !== null) throw new UserError(describeConflict(conflict));
  return form;
}

function describeConflict({ name, reason }: FormConflict): string {
  return `--${name}: it ${reason}.`;
}

/** A flag for the first member of the form, with its dashes; null if the form is empty. */
export function flagOfForm(form: DelimitedForm): string | null {
  const [name] = Object.keys(form) as (keyof DelimitedForm)[];
  if (name === undefined) return null;
  const special: Partial<Record<keyof DelimitedForm, string>> = {
    header: 'no-header',
    duplicateColumns: 'rename-duplicates',
    columns: 'column',
    types: 'type',
  };
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

/** Parses one `--column` and appends it to `before`. The text after the last equals sign is the ID. */
export function addColumn(
  text: string,
  before: readonly (readonly [name: string, id: string])[] = [],
): readonly (readonly [name: string, id: string])[] {
  const at = text.lastIndexOf('=');
  if (at < 1 || at === text.length - 1)
    throw new InvalidArgumentError('It must be a name in the file and the ID of a column, such as "Full name=name".');
  return [...before, [text.slice(0, at), text.slice(at + 1)]];
}

/** Parses `--null`. */
export function parseNulls(text: string): readonly string[] {
  const nulls = text.split(',').filter((one) => one !== '');
  if (nulls.length === 0) throw new InvalidArgumentError('It must be at least one text, such as NA.');
  return nulls;
}

/** Parses the name of a type. */
export function parseColumnType(text: string): ColumnType {
  const type = typeNamed(text);
  if (type === undefined)
    throw new InvalidArgumentError(
      `It must be a type, such as number or array<string>. Types are ${scalarKinds.join(', ')}.`,
    );
  return type;
}

function typeNamed(text: string): ColumnType | undefined {
  return columnTypes.find((one) => one === (text === 'url' ? 'uri' : text));
}

/** Parses one `--type` and appends it to `before`. The text after the last equals sign is the type. */
export function addType(
  text: string,
  before: readonly (readonly [id: string, type: ColumnType])[] = [],
): readonly (readonly [id: string, type: ColumnType])[] {
  const at = text.lastIndexOf('=');
  const type = typeNamed(text.slice(at + 1));
  if (at < 1 || type === undefined)
    throw new InvalidArgumentError(
      `It must be the ID of a column and a type, such as zip=string or tags=array<string>. Types are ${scalarKinds.join(', ')}.`,
    );
  return [...before, [text.slice(0, at), type]];
}

/** Parses `--encoding`: a label of the Encoding Standard. */
export function parseEncoding(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch {
    // TextDecoder throws only for a label that it does not know.
    throw new InvalidArgumentError(
      'It must be the name of an encoding, such as utf-8, windows-1252, latin1 or utf-16le.',
    );
  }
}
