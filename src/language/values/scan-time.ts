/**
 * Scanners for dates, times and durations (ISO 8601, mostly its extended format; decisions 2, "Types"). Each reads
 * every character once. None depends on the clock, the locale or the time zone.
 */
import { isDigit } from './scan-text.ts';

const dateLength = 'YYYY-MM-DD'.length;
const basicDateLength = 'YYYYMMDD'.length;
const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** The value of the two digits at `at`; -1 if they are not two digits. */
function twoDigits(text: string, at: number): number {
  const tens = text.charCodeAt(at);
  const ones = text.charCodeAt(at + 1);
  return isDigit(tens) && isDigit(ones) ? (tens - 48) * 10 + ones - 48 : -1;
}

function isUpTo(value: number, max: number): boolean {
  return value >= 0 && value <= max;
}

function digitsEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length && isDigit(text.charCodeAt(at))) at += 1;
  return at;
}

/** Whether the first ten characters are a real day. */
function startsWithDate(text: string): boolean {
  return text[4] === '-' && text[7] === '-' && startsWithDay(text, 5, 8);
}

/**
 * Whether a year, and a month and a day at these places, are a real day of the Gregorian calendar in the years 0000 to
 * 9999.
 */
function startsWithDay(text: string, monthAt: number, dayAt: number): boolean {
  const century = twoDigits(text, 0);
  const yearOfCentury = twoDigits(text, 2);
  const month = twoDigits(text, monthAt);
  const day = twoDigits(text, dayAt);
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return false;
  const isLeap = yearOfCentury === 0 ? century % 4 === 0 : yearOfCentury % 4 === 0;
  return day <= (month === 2 && isLeap ? 29 : monthDays[month - 1]!);
}

/** `YYYY-MM-DD`, a real day. */
export function isDate(text: string): boolean {
  return text.length === dateLength && startsWithDate(text);
}

/**
 * Whether the text from `start` to its end is `HH:MM[:SS[.fff]]` with an optional zone. No leap seconds.
 * @param separator the text between hours, minutes and seconds: empty in the basic form
 */
function endsWithTime(text: string, start: number, separator: ':' | '' = ':'): boolean {
  const minutes = start + 2 + separator.length;
  if (
    !isUpTo(twoDigits(text, start), 23) ||
    !text.startsWith(separator, start + 2) ||
    !isUpTo(twoDigits(text, minutes), 59)
  ) {
    return false;
  }
  let at = minutes + 2;
  if (separator === '' ? isDigit(text.charCodeAt(at)) : text[at] === separator) {
    if (!isUpTo(twoDigits(text, at + separator.length), 59)) return false;
    at += separator.length + 2;
    if (text[at] === '.') {
      const end = digitsEnd(text, at + 1);
      if (end === at + 1) return false;
      at = end;
    }
  }
  return isZone(text, at);
}

/** Nothing, `Z`, `+HH`, `+HHMM` or `+HH:MM` (or with a minus), up to the end. */
function isZone(text: string, start: number): boolean {
  if (start === text.length) return true;
  if (text[start] === 'Z') return start + 1 === text.length;
  if (text[start] !== '+' && text[start] !== '-') return false;
  if (!isUpTo(twoDigits(text, start + 1), 23)) return false;
  if (text.length === start + 3) return true;
  const minutes = text[start + 3] === ':' ? start + 4 : start + 3;
  return text.length === minutes + 2 && isUpTo(twoDigits(text, minutes), 59);
}

/** `HH:MM[:SS[.fff]]` with an optional zone. */
export function isTime(text: string): boolean {
  return isDigit(text.charCodeAt(0)) && endsWithTime(text, 0);
}

/** A real day, or a real day, `T` and a time. */
export function isExtendedDateTime(text: string): boolean {
  return isDayAndTime(text, 'T');
}

/** Like `isExtendedDateTime`, also with a blank for the `T`. */
export function isSpelledDateTime(text: string): boolean {
  return isDayAndTime(text, 'T') || isDayAndTime(text, ' ');
}

/** Like `isSpelledDateTime`, also in the basic form, like `20240301T100000Z`. */
export function isDateTime(text: string): boolean {
  return isSpelledDateTime(text) || isBasicDateTime(text);
}

function isDayAndTime(text: string, between: 'T' | ' '): boolean {
  if (text.length < dateLength || !startsWithDate(text)) return false;
  return text.length === dateLength || (text[dateLength] === between && endsWithTime(text, dateLength + 1));
}

/** A real day `YYYYMMDD`, `T` and a time. A day alone is not accepted, because it is a number. */
function isBasicDateTime(text: string): boolean {
  return text[basicDateLength] === 'T' && startsWithDay(text, 4, 6) && endsWithTime(text, basicDateLength + 1, '');
}

/** `P3W`, or `P1Y2M3DT4H5M6.7S` with at least one part. Only the last part may have a fraction. */
export function isDuration(text: string): boolean {
  if (text[0] !== 'P' || text.length < 3) return false;
  let designators = 'YMWD';
  let sawFraction = false;
  for (let at = 1; at < text.length;) {
    if (text[at] === 'T' && !designators.includes('S')) {
      designators = 'HMS';
      at += 1;
    }
    let end = digitsEnd(text, at);
    if (end === at || sawFraction) return false;
    if (text[end] === '.' || text[end] === ',') {
      const fraction = end + 1;
      end = digitsEnd(text, fraction);
      if (end === fraction) return false;
      sawFraction = true;
    }
    const designator = text[end];
    if (designator === undefined || !designators.includes(designator)) return false;
    if (designator === 'W') return at === 1 && end + 1 === text.length;
    designators = designators.slice(designators.indexOf(designator) + 1);
    at = end + 1;
  }
  return true;
}
