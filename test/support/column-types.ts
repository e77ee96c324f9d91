/**
 * A simple reference implementation of the interface's column types (docs/spec/decisions.md 2 and 6), to compare with
 * the service. Types are names: `number`, or `array<number>`.
 */
import { scalarKinds } from '../../src/language/values/column-type.ts';

export { scalarKinds };

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export const arrayTypeName = (kind: string): string => `array<${kind}>`;
export const itemOf = (type: string): string | null => /^array<(.*)>$/.exec(type)?.[1] ?? null;
export const allTypes: readonly string[] = [...scalarKinds, ...scalarKinds.map(arrayTypeName)];

/** The type in the form that a schema has. */
export function typeInSchema(type: string): unknown {
  const item = itemOf(type);
  return item === null ? type : { kind: 'array', items: { kind: item } };
}

/** Whether narrow <= wide in the lattice of types. */
function isBelow(narrow: string, wide: string): boolean {
  if (narrow === wide || wide === 'json') return true;
  const [narrowItem, wideItem] = [itemOf(narrow), itemOf(wide)];
  if (wideItem !== null) {
    if (narrowItem !== null) return isBelow(narrowItem, wideItem);
    return narrow !== 'json' && isBelow(narrow, wideItem);
  }
  if (narrowItem !== null || narrow === 'json') return false;
  return (
    wide === 'string' ||
    (wide === 'dateTime' && narrow === 'date') ||
    (wide === 'uri' && (narrow === 'imageURI' || narrow === 'audioURI'))
  );
}

/** The least upper bound of both types. */
export function boundOf(a: string, b: string): string {
  const above = allTypes.filter((type) => isBelow(a, type) && isBelow(b, type));
  const least = above.filter((type) => above.every((other) => isBelow(type, other)));
  if (least.length !== 1) throw new Error(`${a} and ${b} have no least upper bound: ${least.join()}`);
  return least[0]!;
}

function isDay(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

const moment = /^([\d-]+)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?$/;

function isMoment(text: string): boolean {
  const [, day, hour, minute, second] = moment.exec(text) ?? [];
  return day !== undefined && isDay(day) && Number(hour) < 24 && Number(minute) < 60 && Number(second ?? 0) < 60;
}

const otherMoment = /^(?:(\d{4}-\d\d-\d\d) (\d\d:\d\d.*)|(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)?(.*))$/;

/**
 * Whether the text becomes a moment in its usual form, once a `T` replaces a blank, or once it is changed from the
 * basic form.
 */
function isOtherMoment(text: string): boolean {
  const [, day, time, year, month, date, hour, minute, second = '00', rest] = otherMoment.exec(text) ?? [];
  return day !== undefined
    ? isMoment(`${day}T${time}`)
    : year !== undefined && isMoment(`${year}-${month}-${date}T${hour}:${minute}:${second}${rest}`);
}

/** The natural type of a value; null for none (an empty column). */
export function naturalType(value: Json | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'boolean' || typeof value === 'number') return typeof value;
  if (typeof value === 'string')
    return isDay(value)
      ? 'date'
      : isMoment(value) || (value.includes(' ') && isOtherMoment(value))
        ? 'dateTime'
        : 'string';
  if (!Array.isArray(value)) return 'json';
  if (value.some((element: Json) => typeof element === 'object')) return 'json';
  const naturals = value.map((element: Json) => naturalType(element)!);
  return arrayTypeName(naturals.length === 0 ? 'string' : naturals.reduce(boundOf));
}

/** Whether a value fits a column. Knows the natural types of values, and the types above them. */
export function fits(type: string, value: Json): boolean {
  const item = itemOf(type);
  if (item !== null)
    return Array.isArray(value) && value.every((element: Json) => element !== null && fits(item, element));
  switch (type) {
    case 'json':
      return true;
    case 'string':
      return typeof value !== 'object';
    case 'number':
    case 'boolean':
      return typeof value === type;
    case 'date':
      return typeof value === 'string' && isDay(value);
    case 'dateTime':
      return typeof value === 'string' && (isDay(value) || isMoment(value) || isOtherMoment(value));
    default:
      throw new Error(`this knows nothing of ${type}`);
  }
}

/** How a value reads in a column of a wider type. `text` returns a number as it was written. */
export function presented(value: Json, type: string, text: (value: number) => string = String): Json {
  const item = itemOf(type);
  if (item !== null) {
    return Array.isArray(value)
      ? value.map((element: Json) => presented(element, item, text))
      : [presented(value, item, text)];
  }
  if (type !== 'string' && type !== 'markdown') return value;
  return typeof value === 'number' ? text(value) : typeof value === 'boolean' ? String(value) : value;
}

/**
 * How a value reads in a column that gets another type; undefined if it does not fit. Knows the types of `fits`, and
 * numbers that JavaScript writes as they were sent.
 */
export function converted(value: Json, from: string, to: string): Json | undefined {
  if (isBelow(from, to)) return presented(value, to);
  const item = itemOf(to);
  if (item !== null && Array.isArray(value)) {
    const items = value.map((each: Json) => (each === null ? undefined : asScalar(each, item)));
    return items.includes(undefined) ? undefined : (items as Json[]);
  }
  if (item !== null) {
    const one = asScalar(value, item);
    return one === undefined ? undefined : [one];
  }
  if (Array.isArray(value)) return value.length === 1 ? asScalar(value[0] as Json, to) : undefined;
  return asScalar(value, to);
}

function asScalar(value: Json, to: string): Json | undefined {
  if (typeof value !== 'string') return fits(to, value) ? presented(value, to) : undefined;
  if (to === 'number') return /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
  if (to === 'boolean') return /^(true|false)$/i.test(value) ? value.toLowerCase() === 'true' : undefined;
  return fits(to, value) ? value : undefined;
}
