/**
 * Converts numbers, dates and times as people write them in files to the texts of the interface (docs/spec/decisions.md
 * 2, "Forms of CSV and TSV"). Reads each character once.
 */
import type { DateFormat } from './date-format.ts';
import { isDigit } from './scan-text.ts';
import { isDate, isExtendedDateTime } from './scan-time.ts';
import type { CellForm } from './rule.ts';

const plus = 43;
const comma = 44;
const minus = 45;
const point = 46;
const zero = 48;
/**
 * Blanks (also non-breaking ones) and apostrophes. The mark that is not the decimal separator also separates thousands.
 */
const separators: ReadonlySet<number> = new Set(
  [' ', '\u00a0', '\u202f', "'", '\u2019'].map((character) => character.charCodeAt(0)),
);

function digitsEnd(text: string, start: number): number {
  let at = start;
  while (isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

/**
 * The JSON number for a text without blanks around it; undefined if the text is no number.
 * @param numbers how the number may be written
 */
export function numberOfText(text: string, numbers: Exclude<CellForm['numbers'], 'json'>): string | undefined {
  const first = text.charCodeAt(0);
  const start = first === plus || first === minus ? 1 : 0;
  const wholeEnd = wholeNumberEnd(text, start, numbers);
  if (wholeEnd === -1) return undefined;
  const whole = text.slice(start, wholeEnd);
  let at = wholeEnd;
  let fraction = '';
  if (text.charCodeAt(at) === (numbers === ',' ? comma : point)) {
    const end = digitsEnd(text, at + 1);
    fraction = text.slice(at + 1, end);
    at = end;
  }
  if (whole === '' && fraction === '') return undefined;
  const exponentEnd = exponentEndOf(text, at);
  if (exponentEnd !== text.length) return undefined;
  const digits = whole === '' ? '0' : isGrouped(whole) ? whole.replaceAll(/\D/g, '') : whole;
  if (digits.length > 1 && digits.charCodeAt(0) === zero) return undefined;
  const token = `${first === minus ? '-' : ''}${digits}${fraction === '' ? '' : `.${fraction}`}${text.slice(at)}`;
  return Number.isFinite(Number(token)) ? token : undefined;
}

/** Whether thousands are separated. */
function isGrouped(whole: string): boolean {
  return whole.length > 3 && !isDigit(whole.charCodeAt(whole.length - 4));
}

/**
 * The index after the digits before the decimal separator, with one kind of separator between groups of three; -1 if a
 * group has another length.
 */
function wholeNumberEnd(text: string, start: number, numbers: Exclude<CellForm['numbers'], 'json'>): number {
  let end = digitsEnd(text, start);
  if (numbers === 'plain' || end === start || end - start > 3) return end;
  const separator = text.charCodeAt(end);
  if (!separators.has(separator) && separator !== (numbers === ',' ? point : comma)) return end;
  while (text.charCodeAt(end) === separator) {
    if (digitsEnd(text, end + 1) !== end + 4) return -1;
    end += 4;
  }
  return end;
}

/** The index after an exponent, if there is one at `start`; -1 if it has no digits. */
function exponentEndOf(text: string, start: number): number {
  if ((text.charCodeAt(start) | 32) !== 101) return start;
  const sign = text.charCodeAt(start + 1);
  const digits = sign === plus || sign === minus ? start + 2 : start + 1;
  const end = digitsEnd(text, digits);
  return end === digits ? -1 : end;
}

/**
 * `YYYY-MM-DD`, or that with `T` and a time, for a text in this format, possibly followed by a time; undefined for
 * another text.
 */
export function momentOfText(text: string, format: DateFormat): string | undefined {
  const separator = format.charCodeAt(1);
  const firstEnd = oneOrTwoDigits(text, 0);
  if (text.charCodeAt(firstEnd) !== separator) return undefined;
  const secondEnd = oneOrTwoDigits(text, firstEnd + 1);
  if (text.charCodeAt(secondEnd) !== separator) return undefined;
  const yearEnd = digitsEnd(text, secondEnd + 1);
  if (yearEnd !== secondEnd + 5) return undefined;
  const parts = [text.slice(0, firstEnd), text.slice(firstEnd + 1, secondEnd)].map((part) => part.padStart(2, '0'));
  const [month, day] = format === 'm/d/y' ? parts : parts.toReversed();
  const date = `${text.slice(secondEnd + 1, yearEnd)}-${month}-${day}`;
  if (!isDate(date)) return undefined;
  if (yearEnd === text.length) return date;
  if (text[yearEnd] !== ' ' && text[yearEnd] !== 'T') return undefined;
  const time = timeOfText(text.slice(yearEnd + 1));
  const moment = `${date}T${time}`;
  return time !== undefined && isExtendedDateTime(moment) ? moment : undefined;
}

/**
 * A time whose hour has two digits and is on the 24-hour clock; undefined if the text is no time. The part after the
 * hour is unchanged.
 */
function timeOfText(text: string): string | undefined {
  const hourEnd = oneOrTwoDigits(text, 0);
  const half = text.slice(-2).toLowerCase();
  if (half !== 'am' && half !== 'pm') return `${text.slice(0, hourEnd).padStart(2, '0')}${text.slice(hourEnd)}`;
  const hour = Number(text.slice(0, hourEnd));
  if (hour < 1 || hour > 12) return undefined;
  const hours = (hour % 12) + (half === 'pm' ? 12 : 0);
  return `${String(hours).padStart(2, '0')}${text.slice(hourEnd, text.at(-3) === ' ' ? -3 : -2)}`;
}

/** The index after one or two digits; `start` if there are none or more. */
function oneOrTwoDigits(text: string, start: number): number {
  const end = digitsEnd(text, start);
  return end - start > 2 ? start : end;
}
