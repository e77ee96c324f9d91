/** Dates and times of a workbook: numbers of days, which the format of their cells makes dates. */

/** What a format shows of a number of days. `elapsed`: hours that go on beyond 24. */
export type MomentFormat = 'date' | 'time' | 'dateTime' | 'elapsed';

/** Formats that have numbers only. Of those that differ by language, the dates and times of most. */
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

/** What the format with a number, and with a code if the workbook has one for it, shows; null: no moment. */
export function momentFormatOf(id: number, code: string | undefined): MomentFormat | null {
  if (code === undefined) return builtIn.find(([from, to]) => id >= from && id <= to)?.[2] ?? null;
  // Without texts, escaped characters, what only takes room, and colours, currencies and conditions. Of several
  // sections the first is that of positive numbers.
  const [bare] = code.replace(/"[^"]*"|\\.|[_*]./g, '').split(';') as [string];
  if (/\[(?:h+|m+|s+)\]/i.test(bare)) return 'elapsed';
  const letters = bare
    .replace(/\[[^\]]*\]/g, '')
    .replace(/general|standard/gi, '')
    .toLowerCase();
  // Digits are those of a number, but for the fraction of seconds. Some programs write its unit without quotes: `#,##0
  // EUR`.
  if (/[#0?]/.test(letters.replace(/s[.,]0+/g, 's'))) return null;
  const hasTime = /[hs]|am\/pm|a\/p/.test(letters);
  const hasDate =
    /[ydeb]/.test(letters.replace(/am\/pm|a\/p/g, '')) || (/m/.test(letters.replace(/am\/pm/g, '')) && !hasTime);
  if (!(hasDate || hasTime)) return null;
  return hasDate ? (hasTime ? 'dateTime' : 'date') : 'time';
}

const millisecondsOfDay = 86_400_000;
/** Days from 1899-12-30, and from 1904-01-01, to 1970-01-01. */
const daysTo1970 = { 1900: 25_569, 1904: 24_107 } as const;
export type Epoch = keyof typeof daysTo1970;

/** `9999-12-31`. */
const lastDay = 2_932_896;
/** Before it, days are counted as if 1900 had a 29th of February, which is day 60. */
const firstOfMarch1900 = 61;

/**
 * A number of days as its format shows it, in ISO 8601; null for what is no moment, such as negative numbers. To the
 * millisecond: a number of days has no more.
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
  // A date that has a time, though it is not shown, keeps it.
  return format === 'date' && rest === 0 ? date : `${date}T${timeText(rest)}`;
}

/** Days from 1970-01-01; null where there is no such day. */
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
