/** Numbers, sizes and times for people. */

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

export function showNumber(value: number): string {
  return whole.format(value);
}

/** `1 row`, `2 rows`. */
export function showCount(value: number, one: string, many = `${one}s`): string {
  return `${showNumber(value)} ${value === 1 ? one : many}`;
}

const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

export function showBytes(bytes: number): string {
  const unit = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return `${short.format(bytes / 1024 ** unit)} ${units[unit]!}`;
}

/** `40 s`, `3 min`, `2 h`. */
export function showDuration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${short.format(seconds / 3600)} h`;
}

/** A time of the interface (RFC 3339), in the reader's time zone. */
export function showTime(time: string): string {
  return moment.format(new Date(time));
}
