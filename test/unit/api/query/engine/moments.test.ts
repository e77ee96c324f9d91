import { expect, test } from '@jest/globals';
import { showTime } from '../../../../../src/api/query/engine/stored-type.ts';
import { daysOf, microsecondsOfDay, microsecondsSince1970 } from '../../../../../src/language/values/moments.ts';

test('the days of all years equal those of JavaScript', () => {
  const check = (days: number): void => {
    const [date] = new Date(days * 86_400_000).toISOString().split('T') as [string];
    if (daysOf(date) !== days) throw new Error(`${date}: ${daysOf(date)}, not ${days}`);
  };
  // The calendar repeats every 400 years: all days of those from 1600 on, and of all others the days around each
  // month's end.
  for (let days = -135_140; days < 10_957; days += 1) check(days);
  for (let month = 1; month <= 10_000 * 12; month += 1) {
    const ends = Date.UTC(2000, month - 2000 * 12, 1) / 86_400_000;
    check(ends - 1);
    if (month < 10_000 * 12) check(ends);
  }
  expect([daysOf('0000-01-01'), daysOf('1970-01-01'), daysOf('9999-12-31')]).toEqual([-719_528, 0, 2_932_896]);
});

test.each([
  ['00:00', 0],
  ['23:59', 86_340_000_000],
  ['12:30:15.5', 45_015_500_000],
  ['12:30:15.1234569', 45_015_123_456],
  ['12:30Z', 45_000_000_000],
  ['00:30+02:00', -5_400_000_000],
  ['23:30-0130', 90_000_000_000],
  ['12:00+01', 39_600_000_000],
])('%s is %i microseconds after midnight', (text, microseconds) => {
  expect(microsecondsOfDay(text)).toBe(microseconds);
});

test.each([
  ['00:00', '00:00:00'],
  ['23:59:59.999999', '23:59:59.999999'],
  ['10:00+02:00', '08:00:00'],
  ['00:30+02:00', '00:30:00+02:00'],
  ['01:00:00.5+02:00', '00:00:00.5+01:00'],
  ['23:30-01:30', '23:00:00-02:00'],
  ['23:59-14:00', '23:59:00-14:00'],
  ['00:00+14:00', '00:00:00+14:00'],
  ['22:00-02:00', '23:00:00-01:00'],
])('the moment of %s is shown as %s, which is the same moment', (text, shown) => {
  expect(showTime(BigInt(microsecondsOfDay(text)))).toBe(shown);
  expect(microsecondsOfDay(shown)).toBe(microsecondsOfDay(text));
});

test.each([
  ['1970-01-01', 0n],
  ['1970-01-01T00:00:00.000001Z', 1n],
  ['1969-12-31T23:59:59.999999', -1n],
  ['2024-02-29T12:30-11:30', 1_709_251_200_000_000n],
  ['0000-01-01', -62_167_219_200_000_000n],
  ['1970-01-01 00:00:01Z', 1_000_000n],
  ['19700101T000001.5Z', 1_500_000n],
  ['19700101T0100+0100', 0n],
  ['19691231T2359', -60_000_000n],
])('%s is %i microseconds after 1970', (text, microseconds) => {
  expect(microsecondsSince1970(text)).toBe(microseconds);
});

test('times in the form of JavaScript equal those of JavaScript, in all years', () => {
  const least = Date.parse('0000-01-01T00:00:00.000Z');
  // Steps of about ten years, with hours, minutes, seconds and milliseconds that differ.
  for (let at = least; at <= Date.parse('9999-12-31T23:59:59.999Z'); at += 314_159_265_358) {
    const text = new Date(at).toISOString();
    expect([text, microsecondsSince1970(text)]).toEqual([text, BigInt(at) * 1000n]);
  }
});
