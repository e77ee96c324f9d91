/**
 * Scanners for dates, times and durations (ISO 8601 extended format; decisions 2, "Types"). Each looks at every character once.
 * None depends on the clock, the locale or the time zone.
 */
import { isDigit } from './scan-text.ts';

const dateLength = 'YYYY-MM-DD'.length;
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

/** Whether the first ten characters are a real day of the Gregorian calendar, with the years 0000 to 9999. */
function startsWithDate(text: string): boolean {
  if (text[4] !== '-' || text[7] !== '-') return false;
  const century = twoDigits(text, 0);
  const yearOfCentury = twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  if (century < 0 || yearOfCentury < 0 || month < 1 || month > 12 || day < 1) return false;
  const isLeap = yearOfCentury === 0 ? century % 4 === 0 : yearOfCentury % 4 === 0;
  return day <= (month === 2 && isLeap ? 29 : monthDays[month - 1]!);
}

/** `YYYY-MM-DD`, a real day. */
export function isDate(text: string): boolean {
  return text.length === dateLength && startsWithDate(text);
}

/** Whether the text from `start` to its end is `HH:MM[:SS[.fff]]` with an optional zone. No leap seconds. */
function endsWithTime(text: string, start: number): boolean {
  if (!isUpTo(twoDigits(text, start), 23) || text[start + 2] !== ':' || !isUpTo(twoDigits(text, start + 3), 59)) {
    return false;
  }
  let at = start + 5;
  if (text[at] === ':') {
    if (!isUpTo(twoDigits(text, at + 1), 59)) return false;
    at += 3;
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
export function isDateTime(text: string): boolean {
  if (text.length < dateLength || !startsWithDate(text)) return false;
  return text.length === dateLength || (text[dateLength] === 'T' && endsWithTime(text, dateLength + 1));
}

/** `P3W`, or `P1Y2M3DT4H5M6.7S` with at least one part; only the last part may have a fraction. */
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
