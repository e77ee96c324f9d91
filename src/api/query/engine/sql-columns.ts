/**
 * The columns of an answer to SQL: their types in the interface, how their values are selected, and how they are shown.
 * Only values of a limited size leave the engine: lists, structs and similar values are selected as JSON texts, and the
 * engine measures each text first.
 */
import {
  DuckDBArrayType,
  type DuckDBDateValue,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  type DuckDBTimestampTZValue,
  type DuckDBTimestampValue,
  type DuckDBTimeValue,
  DuckDBTypeId,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import { arrayOf, isArrayType, itemKind, type ColumnType } from '../../../language/values/column-type.ts';
import { decodeName } from '../sql/names.ts';
import { showDate, showDateTime, showTime } from './stored-type.ts';

export interface SqlColumn {
  /** The type of the column in answers. */
  readonly type: unknown;
  /** Whether its values are JSON. */
  readonly isJson: boolean;
  /** The SQL that selects the value of an expression. */
  readonly select: (place: string) => string;
  /** The JSON of a selected value that is not null. */
  readonly show: (value: DuckDBValue) => string;
}

/** Limit of a text in an answer, in bytes. */
const textBytesMax = 1024 * 1024;

/** The error that the engine raises for a longer text. */
export const textTooLong = `The answer has a text of more than ${textBytesMax} bytes.`;

const measured = (text: string): string =>
  `CASE WHEN strlen(${text}) > ${textBytesMax} THEN error('${textTooLong}') ELSE ${text} END`;
const asText = (place: string): string => measured(`CAST(${place} AS VARCHAR)`);
const asIs = (place: string): string => place;

const {
  BOOLEAN,
  TINYINT,
  SMALLINT,
  INTEGER,
  BIGINT,
  HUGEINT,
  UTINYINT,
  USMALLINT,
  UINTEGER,
  UBIGINT,
  UHUGEINT,
  FLOAT,
  DOUBLE,
  DECIMAL,
} = DuckDBTypeId;
const { DATE, TIME, TIMESTAMP, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMP_TZ, BLOB, UNION, VARIANT } =
  DuckDBTypeId;

type Scalar = Pick<SqlColumn, 'select' | 'show'> & { readonly type: ColumnType };

const string: Scalar = { type: 'string', select: asText, show: (value) => JSON.stringify(value) };
const number: Scalar = { type: 'number', select: asIs, show: showNumber };
const dateTime: Scalar = { type: 'dateTime', select: (place) => `CAST(${place} AS TIMESTAMP)`, show: showMoment };

/** Types with their own form. All others are shown as the engine's texts. */
const scalars: ReadonlyMap<DuckDBTypeId, Scalar> = new Map<DuckDBTypeId, Scalar>([
  [BOOLEAN, { type: 'boolean', select: asIs, show: String }],
  ...[TINYINT, SMALLINT, INTEGER, BIGINT, HUGEINT, UTINYINT, USMALLINT, UINTEGER, UBIGINT, UHUGEINT, FLOAT, DOUBLE].map(
    (id): [DuckDBTypeId, Scalar] => [id, number],
  ),
  [DECIMAL, { ...number, select: (place) => `CAST(${place} AS DOUBLE)` }],
  [DATE, { type: 'date', select: asIs, show: showDay }],
  [TIME, { type: 'time', select: asIs, show: (value) => JSON.stringify(showTime((value as DuckDBTimeValue).micros)) }],
  ...[TIMESTAMP, TIMESTAMP_S, TIMESTAMP_MS, TIMESTAMP_NS].map((id): [DuckDBTypeId, Scalar] => [id, dateTime]),
  [TIMESTAMP_TZ, { ...dateTime, select: asIs }],
  [BLOB, { ...string, select: (place) => measured(`to_base64(${place})`) }],
]);

/** A column of an answer. */
export function sqlColumn(type: DuckDBType): SqlColumn {
  const shown = shownType(type);
  const isJson = shown === 'json';
  if (isJson || isArrayType(shown)) {
    const spelled = isArrayType(shown) ? { kind: 'array', items: { kind: itemKind(shown) } } : shown;
    return {
      type: spelled,
      isJson,
      select: (place) => asText(`to_json(${place})`),
      show: (value) => showJson(value as string, type),
    };
  }
  const { select, show } = scalars.get(type.typeId) ?? string;
  return { type: shown, isJson, select, show };
}

function shownType(type: DuckDBType): ColumnType {
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) {
    const item = shownType(type.valueType);
    return item === 'json' || isArrayType(item) ? 'json' : arrayOf(item);
  }
  const isJson =
    type.alias === 'JSON' ||
    type instanceof DuckDBStructType ||
    type instanceof DuckDBMapType ||
    type.typeId === UNION ||
    type.typeId === VARIANT;
  return isJson ? 'json' : (scalars.get(type.typeId)?.type ?? 'string');
}

/** Shows an integer that a double cannot hold as a text, and NaN and infinities as null. */
function showNumber(value: DuckDBValue): string {
  if (typeof value === 'bigint' && !Number.isSafeInteger(Number(value))) return `"${value}"`;
  return Number.isFinite(Number(value)) ? String(Number(value)) : 'null';
}

/** The range of days of a Date. Values beyond it, such as infinity, are shown as null. */
const daysMax = 99_999_999;

function showDay(value: DuckDBValue): string {
  const { days } = value as DuckDBDateValue;
  return Math.abs(days) > daysMax ? 'null' : JSON.stringify(showDate(days));
}

function showMoment(value: DuckDBValue): string {
  const { micros } = value as DuckDBTimestampValue | DuckDBTimestampTZValue;
  return Math.abs(Number(micros / 86_400_000_000n)) > daysMax ? 'null' : JSON.stringify(showDateTime(micros));
}

/** Converts JSON of the engine: moments and names get the form that they have elsewhere. */
function showJson(text: string, type: DuckDBType): string {
  // The engine writes numbers that JSON does not have.
  const strict = /NaN|Infinity/.test(text)
    ? text.replace(/"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g, (part) => (part.startsWith('"') ? part : 'null'))
    : text;
  const exact = (_key: string, value: unknown, context?: { readonly source?: string }): unknown => {
    return typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context!.source!)
      ? context!.source
      : value;
  };
  try {
    return JSON.stringify(present(JSON.parse(strict, exact), type));
  } catch {
    // A text that a query casts to JSON may not be valid JSON, or be nested deeper than the stack allows. Show it as a
    // text.
    return JSON.stringify(text);
  }
}

function present(value: unknown, type: DuckDBType): unknown {
  if (value === null) return null;
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType)
    return (value as readonly unknown[]).map((item) => present(item, type.valueType));
  if (type instanceof DuckDBMapType)
    return Object.fromEntries(
      Object.entries(value as object).map(([key, item]) => [
        presentScalar(key, type.keyType),
        present(item, type.valueType),
      ]),
    );
  if (type instanceof DuckDBStructType) {
    return Object.fromEntries(
      type.entryNames.map((name, at) => [
        decodeName(name),
        present((value as Readonly<Record<string, unknown>>)[name], type.entryTypes[at]!),
      ]),
    );
  }
  return type.alias === 'JSON' ? withNames(value) : presentScalar(value, type);
}

/** Converts moments of the engine. It writes a year before the first as `0001-01-01 (BC)`. */
function presentScalar(value: unknown, type: DuckDBType): unknown {
  const kind = scalars.get(type.typeId)?.type;
  if (kind !== 'date' && kind !== 'dateTime') return value;
  const [, year, day, isBefore, time] =
    /^(\d+)(-\d\d-\d\d)( \(BC\))?(?: ([\d:.]+)(?:\+00)?)?$/.exec(value as string) ?? [];
  const midnight = new Date(0).setUTCFullYear(
    isBefore === undefined ? Number(year) : 1 - Number(year),
    Number(day?.slice(1, 3)) - 1,
    Number(day?.slice(4)),
  );
  if (Number.isNaN(midnight)) return null;
  const date = showDate(midnight / 86_400_000);
  return kind === 'date' ? date : `${date}T${time}Z`;
}

/** Decodes the keys of JSON that a query made from rows. */
function withNames(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withNames);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [decodeName(key), withNames(item)]));
}

/** Whether values of this type have members without names, of which JSON would show only one. */
export function hasUnnamed(type: DuckDBType): boolean {
  if (type instanceof DuckDBListType || type instanceof DuckDBArrayType) return hasUnnamed(type.valueType);
  if (type instanceof DuckDBMapType) return hasUnnamed(type.valueType);
  return type instanceof DuckDBStructType && (type.entryNames.includes('') || type.entryTypes.some(hasUnnamed));
}
