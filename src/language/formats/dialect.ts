/** The marks of CSV and TSV: the characters between cells, around them, and so on. */
import type { DelimitedForm } from './delimited-form.ts';

/** Each mark is one character. No two are the same. */
export interface Dialect {
  readonly delimiter: string;
  /** Null: no character is special within a cell. */
  readonly quote: string | null;
  /** The character before a quote, or before itself, in a quoted cell. A quote may also be doubled. */
  readonly escape: string | null;
  /** Whether a quote inside an unquoted cell is text. */
  readonly lenient: boolean;
  /** Lines that begin with this character are ignored. */
  readonly comment: string | null;
}

/** The marks of a form. `usual`: the delimiter of the media type. Call `conflictIn` first. */
export function dialectOf(
  { delimiter = '', quote = '"', escape, lenient = false, comment }: DelimitedForm,
  usual: string,
): Dialect {
  return {
    delimiter: delimiter === '' ? usual : delimiter,
    quote: quote === 'none' ? null : quote,
    // An escape equal to the quote means that quotes are doubled.
    escape: escape === undefined || escape === quote ? null : escape,
    lenient,
    comment: comment ?? null,
  };
}

/** After more blanks, a quote does not begin a cell. So little buffered text decides where a cell begins. */
export const blanksMax = 1_000;

export interface FormConflict {
  /** The name of the parameter. */
  readonly name: 'delimiter' | 'quote' | 'escape' | 'comment';
  readonly reason: string;
}

/** A mark of the form that contradicts another one; null if there is none. */
export function conflictIn(form: DelimitedForm, usual: string): FormConflict | null {
  const { delimiter, quote, escape, comment } = dialectOf(form, usual);
  if (escape !== null && quote === null) return { name: 'escape', reason: 'applies within quotes, and quote is none' };
  const marks = [
    ['delimiter', delimiter],
    ['quote', quote],
    ['escape', escape],
    ['comment', comment],
  ] as const;
  for (const [at, [name, mark]] of marks.entries()) {
    if (mark === null) continue;
    if (name !== 'delimiter' && isBlank(mark)) return { name, reason: 'must not be a blank or a tab' };
    const other = marks.slice(0, at).find(([, before]) => before === mark);
    if (other !== undefined) return { name, reason: `must not be the ${other[0]} too` };
  }
  return null;
}

/**
 * Characters that no mark may be: line ends, characters with a meaning at the beginning or the end of a text, and the
 * replacement for invalid bytes.
 */
const noMarks = '\n\r\0\ufeff\u001a\ufffd';

/** Whether the text is one character that may be a mark. */
export function isMark(text: string): boolean {
  return [...text].length === 1 && text.isWellFormed() && !noMarks.includes(text);
}

/** The delimiter as the person states it: a tab may be `\t` or `tab`. Null if the text is no delimiter. */
export function delimiterOf(text: string): string | null {
  if (/^(?:tab|\\t)$/i.test(text)) return '\t';
  return isMark(text) ? text : null;
}

function isBlank(mark: string): boolean {
  return mark === ' ' || mark === '\t';
}

/** Maximum length of a first line that only names the delimiter, in bytes. */
export const delimiterLineBytesMax = 10;

/** The delimiter that a first line such as `sep=;` (as spreadsheets write it) names; null if it names none. */
export function delimiterNamedBy(line: string, { quote, escape, comment }: Dialect): string | null {
  const mark = /^("?)sep=(?<mark>.)\1$/isu.exec(line)?.groups?.['mark'];
  return mark === undefined || !isMark(mark) || [quote, escape, comment].includes(mark) ? null : mark;
}
