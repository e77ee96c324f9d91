/** The form of a file, as the person enters it in the controls. */
import { skipLinesMax, type DelimitedForm } from '../../../src/language/formats/delimited-form.ts';
import { dateFormats, type DateFormat } from '../../../src/language/values/date-format.ts';
import { conflictIn, isMark } from '../../../src/language/formats/dialect.ts';
import type { ColumnType } from '../../../src/language/values/column-type.ts';
import { numberOfText } from '../ui/number-of-text.ts';

/** Texts are as typed. An empty text stands for the default. */
export interface FormDraft {
  readonly header: 'present' | 'absent';
  /** `''`: detected from the first lines. */
  readonly delimiter: string;
  readonly decimal: '' | '.' | ',';
  readonly dateFormat: '' | DateFormat;
  /** Texts that mean empty, separated by commas. */
  readonly nulls: string;
  readonly quote: string;
  readonly escape: string;
  readonly isLenient: boolean;
  readonly skipLines: string;
  readonly comment: string;
  readonly renamesDuplicates: boolean;
  /** By ID of the column. */
  readonly types: Readonly<Record<string, ColumnType>>;
}

export const plainDraft: FormDraft = {
  header: 'present',
  delimiter: '',
  decimal: '',
  dateFormat: '',
  nulls: '',
  quote: '',
  escape: '',
  isLenient: false,
  skipLines: '',
  comment: '',
  renamesDuplicates: false,
  types: {},
};

/** The controls under "More options". */
const further = [
  'dateFormat',
  'nulls',
  'quote',
  'escape',
  'isLenient',
  'skipLines',
  'comment',
  'renamesDuplicates',
] as const satisfies readonly (keyof FormDraft)[];

/** How many controls under "More options" differ from their defaults. */
export function countFurther(draft: FormDraft): number {
  return further.filter((name) => draft[name] !== plainDraft[name]).length;
}

/** The labels of controls for single characters, by parameter. */
const markControls = {
  delimiter: 'Separator',
  quote: 'Quotes around cells',
  escape: 'A quote within quotes',
  comment: 'Comments begin with',
} as const;

/**
 * The form that the controls describe. Throws an Error that names the control with an invalid text.
 * @param usual the separator if none is chosen
 */
export function formOfDraft(draft: FormDraft, usual: ',' | '\t'): DelimitedForm {
  const nulls = nullsOf(draft.nulls);
  const skipLines = draft.skipLines.trim() === '' ? 0 : linesOf(draft.skipLines);
  const form: DelimitedForm = {
    ...(draft.header === 'absent' && { header: 'absent' }),
    ...(draft.delimiter !== '' && { delimiter: markOf('delimiter', draft.delimiter) }),
    ...(draft.quote !== '' && { quote: draft.quote === 'none' ? 'none' : markOf('quote', draft.quote) }),
    ...(draft.escape !== '' && { escape: markOf('escape', draft.escape) }),
    ...(draft.isLenient && { lenient: true }),
    ...(skipLines > 0 && { skipLines }),
    ...(draft.comment !== '' && { comment: markOf('comment', draft.comment) }),
    ...(draft.renamesDuplicates && { duplicateColumns: 'rename' }),
    ...(nulls.length > 0 && { null: nulls }),
    ...(draft.decimal !== '' && { decimal: draft.decimal }),
    ...(draft.dateFormat !== '' && { dateFormat: draft.dateFormat }),
    ...(Object.keys(draft.types).length > 0 && { types: draft.types }),
  };
  const conflict = conflictIn(form, usual);
  if (conflict !== null) throw new Error(`${markControls[conflict.name]}: this ${conflict.reason}.`);
  return form;
}

/** The draft with the changes of a form. */
export function withForm(
  draft: FormDraft,
  { null: nulls = [], decimal, dateFormat }: Pick<DelimitedForm, 'null' | 'decimal' | 'dateFormat'>,
): FormDraft {
  return {
    ...draft,
    nulls: [...new Set([...nullsOf(draft.nulls), ...nulls])].join(', '),
    ...(decimal !== undefined && { decimal }),
    ...(dateFormat !== undefined && { dateFormat }),
  };
}

/** The date formats, each with the same day as an example. */
export const dateFormatTitles: readonly (readonly [value: DateFormat, title: string])[] = dateFormats.map((format) => [
  format,
  format.replace('d', '31').replace('m', '12').replace('y', '2024'),
]);

function nullsOf(text: string): string[] {
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}

function markOf(name: keyof typeof markControls, text: string): string {
  if (!isMark(text)) throw new Error(`${markControls[name]}: must be one character.`);
  return text;
}

function linesOf(text: string): number {
  let lines: number;
  try {
    lines = numberOfText(text);
  } catch (error) {
    throw new Error(`Lines before the header: ${(error as Error).message}`, { cause: error });
  }
  if (!Number.isSafeInteger(lines) || lines < 0) throw new Error('Lines before the header: must be a whole number.');
  if (lines > skipLinesMax)
    throw new Error(`Lines before the header: at most ${skipLinesMax.toLocaleString('en')} can be skipped.`);
  return lines;
}
