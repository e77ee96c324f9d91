/**
 * Comparable values for `date`, `time` and `dateTime`: the moment, in UTC if they have no zone. The texts must be
 * values of these types (docs/spec/decisions.md 2). Digits beyond the microsecond do not count.
 */

const microsecondsOfMinute = 60_000_000;
const microsecondsOfWholeDay = 86_400_000_000;
const zero = '0'.charCodeAt(0);
const dateLength = 'YYYY-MM-DD'.length;
const basicDateLength = 'YYYYMMDD'.length;

/**
 * Days from 1970-01-01 to a `YYYY-MM-DD`, by the Gregorian calendar
 * (http://howardhinnant.github.io/date_algorithms.html#days_from_civil).
 */
export function daysOf(date: string): number {
  const [month, day] = [twoDigits(date, 5), twoDigits(date, 8)];
  // Years begin in March here, so that the leap day is the last day of a year.
  const year = twoDigits(date, 0) * 100 + twoDigits(date, 2) - (month <= 2 ? 1 : 0);
  const era = Math.floor(year / 400);
  const yearOfEra = year - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
}

/** Microseconds from 1970 to a date and time, or to the beginning of a date. */
export function microsecondsSince1970(text: string): bigint {
  const dateTime = text[basicDateLength] === 'T' ? inExtendedForm(text) : text;
  const days = daysOf(dateTime);
  const rest = dateTime.length === dateLength ? 0 : microsecondsOfDay(dateTime.slice(dateLength + 1));
  const microseconds = days * microsecondsOfWholeDay + rest;
  // A double can hold all microseconds of the years from 1685 to 2255.
  return Number.isSafeInteger(microseconds)
    ? BigInt(microseconds)
    : BigInt(days) * BigInt(microsecondsOfWholeDay) + BigInt(rest);
}

/** `20240301T100000Z` as `2024-03-01T10:00:00Z`. */
function inExtendedForm(basic: string): string {
  return basic.replace(
    /^(....)(..)(..)T(..)(..)(\d\d)?/,
    (_, year, month, day, hours, minutes, seconds = '00') => `${year}-${month}-${day}T${hours}:${minutes}:${seconds}`,
  );
}

/** Microseconds from midnight in UTC to a time of the same day. With a zone it may be negative, or beyond a day. */
export function microsecondsOfDay(time: string): number {
  const minutes = twoDigits(time, 0) * 60 + twoDigits(time, 3);
  // The form that `toISOString` returns.
  if (time.length === 'hh:mm:ss.SSSZ'.length && time[8] === '.' && time[12] === 'Z') {
    return (
      minutes * microsecondsOfMinute +
      twoDigits(time, 6) * 1_000_000 +
      (twoDigits(time, 9) * 10 + time.charCodeAt(11) - zero) * 1000
    );
  }
  const [, seconds = '0', fraction = '', zone = ''] = /^\d\d:\d\d(?::(\d\d)(?:\.(\d+))?)?(.*)$/s.exec(time)!;
  const microseconds = Number(seconds) * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
  return (minutes - minutesOfZone(zone)) * microsecondsOfMinute + microseconds;
}

/** The number in two digits of a text. */
function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - zero) * 10 + text.charCodeAt(at + 1) - zero;
}

/** How many minutes a zone (`Z`, `+02`, `+0200`, `-02:00`, or none) is ahead of UTC. */
function minutesOfZone(zone: string): number {
  if (zone === '' || zone === 'Z' || zone === 'z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(':', '') || '0');
  return zone[0] === '-' ? -minutes : minutes;
}
