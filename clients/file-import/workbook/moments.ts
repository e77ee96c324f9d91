/** Dates and times in a workbook: numbers of days, which the format of their cells turns into dates. */

/** What a format shows of a number of days. `elapsed`: hours, which may exceed 24. */
export type MomentFormat = 'date' | 'time' | 'dateTime' | 'elapsed';

/**
 * The built-in formats, which have a number but no code. For formats that differ by language: the dates and times of
 * most languages.
 */
const builtIn: readonly (readonly [from: number, to: number, MomentFormat])[] = [
  [14, 17, 'date'],
  [18, 21, 'time'],
  [22, 22, 'dateTime'],
  [27, 31, 'date'],
  [32, 33, 'time'],
  [34, 36, 'date'],
  [45, 45, 'time'],
  [46, 46, 'elapsed'],
  [47, 47, 'time'],
  [50, 58, 'date'],
  [71, 74, 'date'],
  [75, 76, 'time'],
  [77, 77, 'dateTime'],
  [78, 80, 'time'],
  [81, 81, 'date'],
];

/**
 * The parts of a format code (ECMA-376 part 1, 18.8.31). The first one that matches counts. Quoted texts, escaped
 * characters and spacing are ignored. So are colours, conditions, currencies and languages in brackets, but not elapsed
 * hours.
 */
const codePart = new RegExp(
  [
    '(?<skipped>"[^"]*"?|\\\\[^]?|[_*][^]?)',
    '(?<elapsed>\\[(?:h+|m+|s+)\\](?:[.,]0+)?)',
    '(?<bracket>\\[[^\\]]*\\]?)',
    '(?<end>;)',
    '(?<general>general)',
    '(?<half>am/pm|a/p)',
    // A calendar, the name of a weekday in East Asia, and marks of ISO 8601.
    '(?<literal>b[12](?=[ymdge])|aaaa?|t(?=h)|z(?=;|$))',
    // Digits after seconds are their fraction.
    '(?<unit>y+|m+|d+|h+|s+(?:[.,]0+)?|e+|g+|b+)',
    '(?<number>[0#?@%])',
    // Letters without a meaning. East Asian letters stand for units without quotes.
    '(?<word>(?![\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Hang}])\\p{L})',
    '[^]',
  ].join('|'),
  'giu',
);

/** The unit for morning or afternoon. */
const halfOfDay = 'noon';

/** What the format with this number shows, or with this code if the workbook has one; null: no date or time. */
export function momentFormatOf(id: number, code: string | undefined): MomentFormat | null {
  if (code === undefined) return builtIn.find(([from, to]) => id >= from && id <= to)?.[2] ?? null;
  const units: string[] = [];
  for (const { groups } of code.matchAll(codePart)) {
    const { end, elapsed, general, half, literal, unit, number, word } = groups!;
    // If there are several sections, the first one is for positive numbers.
    if (end !== undefined) break;
    // A format of numbers, or a word of another language, such as `Estándar` for `General`. No date has such letters.
    if ((general ?? number ?? word) !== undefined) return null;
    if (elapsed !== undefined) units.push('elapsed');
    if (half !== undefined) units.push(halfOfDay);
    if (literal?.startsWith('a') === true) units.push('d');
    if (unit !== undefined) units.push(unit.toLowerCase());
  }
  if (units.includes('elapsed')) return 'elapsed';
  const hasDate = units.some((unit, at) => isOfDate(unit, units[at - 1], units[at + 1]));
  const hasTime = units.some((unit) => unit === halfOfDay || /^[hs]/.test(unit));
  if (!(hasDate || hasTime)) return null;
  return hasDate ? (hasTime ? 'dateTime' : 'date') : 'time';
}

/** Whether a unit is of a date. One or two `m` after hours or before seconds are minutes. An era alone is no date. */
function isOfDate(unit: string, before = '', behind = ''): boolean {
  if (/^[ydeb]/.test(unit)) return true;
  return unit.startsWith('m') && !(unit.length <= 2 && (before.startsWith('h') || behind.startsWith('s')));
}

const millisecondsOfDay = 86_400_000;
/** Days from the epoch (1899-12-30 or 1904-01-01) to 1970-01-01. */
const daysTo1970 = { 1900: 25_569, 1904: 24_107 } as const;
export type Epoch = keyof typeof daysTo1970;

/** The day `9999-12-31`. */
const lastDay = 2_932_896;
/** Before this day, workbooks count as if 1900 had a 29th of February, which is day 60. */
const firstOfMarch1900 = 61;

/**
 * A number of days in ISO 8601, in the form that the format shows; null if it is no date or time, such as a negative
 * number. To the millisecond, because a number of days is not more precise.
 */
export function momentText(serial: number, format: MomentFormat, epoch: Epoch): string | null {
  if (serial < 0 || !Number.isFinite(serial)) return null;
  const milliseconds = Math.round(serial * millisecondsOfDay);
  if (!Number.isSafeInteger(milliseconds)) return null;
  const days = Math.floor(milliseconds / millisecondsOfDay);
  const rest = milliseconds - days * millisecondsOfDay;
  if (format === 'elapsed') return durationText(milliseconds);
  if (format === 'time' && days === 0) return timeText(rest);
  const day = dayOf(days, epoch);
  if (day === null) return null;
  const date = new Date(day * millisecondsOfDay).toISOString().slice(0, 'YYYY-MM-DD'.length);
  // A date keeps its time even if the format does not show it.
  return format === 'date' && rest === 0 ? date : `${date}T${timeText(rest)}`;
}

/** Days since 1970-01-01; null if there is no such day. */
function dayOf(days: number, epoch: Epoch): number | null {
  if (epoch === 1900 && (days === 0 || days === firstOfMarch1900 - 1)) return null;
  const day = days - daysTo1970[epoch] + (epoch === 1900 && days < firstOfMarch1900 ? 1 : 0);
  return day > lastDay ? null : day;
}

function timeText(milliseconds: number): string {
  return new Date(milliseconds)
    .toISOString()
    .slice('1970-01-01T'.length, -1)
    .replace(/\.000$/, '');
}

function durationText(milliseconds: number): string {
  const [hours, minutes, seconds] = [
    Math.floor(milliseconds / 3_600_000),
    Math.floor(milliseconds / 60_000) % 60,
    (milliseconds % 60_000) / 1000,
  ];
  const parts = [
    [hours, 'H'],
    [minutes, 'M'],
    [seconds, 'S'],
  ]
    .map(([count, unit]) => (count === 0 ? '' : `${count}${unit}`))
    .join('');
  return parts === '' ? 'PT0S' : `PT${parts}`;
}
