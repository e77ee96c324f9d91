/**
 * How the columnar engine stores the cells of a column: so that comparing, sorting and grouping what it stores is
 * comparing cells as docs/spec/queries.md says. A cell also stays as it is presented, in the body of its row.
 */
import {
  BIGINT,
  BOOLEAN,
  DATE,
  DOUBLE,
  LIST,
  TIMESTAMP,
  VARCHAR,
  DuckDBDateValue,
  DuckDBListValue,
  DuckDBTimestampValue,
  type DuckDBType,
  type DuckDBValue,
} from '@duckdb/node-api';
import { isArrayType, itemKind, type ColumnType, type ScalarKind } from '../../../language/values/column-type.ts';
import { daysOf, microsecondsOfDay, microsecondsSince1970 } from '../../../language/values/moments.ts';

/** Which comparisons there are: all, those of text too, or only whether two values are equal. */
type Comparing = 'ordered' | 'text' | 'number' | 'equality' | 'list';

export interface StoredType {
  readonly sql: string;
  readonly type: DuckDBType;
  readonly comparing: Comparing;
  /** The stored value of a cell. `json`: its parsed JSON, which fits the column. */
  readonly of: (json: unknown) => DuckDBValue;
  /**
   * Converts a cell, by the code of src/language/values, to the JSON text that DuckDB gets in its place: moments, and
   * JSON in its canonical form. Null: DuckDB reads the cell itself, since all readers of JSON agree on texts, numbers
   * and booleans.
   */
  readonly prepare: ((json: unknown) => string) | null;
  /**
   * The stored value, in SQL. `given`: the text of the cell, or of what it was prepared as; JSON if that is an array.
   */
  readonly read: (given: string) => string;
  /** The JSON value that shows a stored one, such as a group. */
  readonly show: (stored: DuckDBValue) => unknown;
}

const text: StoredType = {
  sql: 'VARCHAR',
  type: VARCHAR,
  comparing: 'text',
  of: (json) => json as string,
  prepare: null,
  read: (given) => given,
  show: (stored) => stored,
};

const scalars: Readonly<Partial<Record<ScalarKind, StoredType>>> = {
  number: {
    // There is one zero.
    sql: 'DOUBLE',
    type: DOUBLE,
    comparing: 'number',
    of: (json) => (json as number) + 0,
    show: showNumber,
    prepare: null,
    read: (given) => `(CAST(${given} AS DOUBLE) + 0.0::DOUBLE)`,
  },
  boolean: {
    sql: 'BOOLEAN',
    type: BOOLEAN,
    comparing: 'ordered',
    of: (json) => json as boolean,
    show: (stored) => stored,
    prepare: null,
    read: (given) => `(${given} = 'true')`,
  },
  date: {
    sql: 'DATE',
    type: DATE,
    comparing: 'ordered',
    of: (json) => new DuckDBDateValue(daysOf(json as string)),
    show: (stored) => showDate((stored as DuckDBDateValue).days),
    prepare: (json) => String(daysOf(json as string)),
    read: (given) => `(DATE '1970-01-01' + CAST(${given} AS INTEGER))`,
  },
  time: {
    sql: 'BIGINT',
    type: BIGINT,
    comparing: 'ordered',
    of: (json) => BigInt(microsecondsOfDay(json as string)),
    show: (stored) => showTime(stored as bigint),
    prepare: (json) => String(microsecondsOfDay(json as string)),
    read: (given) => `CAST(${given} AS BIGINT)`,
  },
  dateTime: {
    sql: 'TIMESTAMP',
    type: TIMESTAMP,
    comparing: 'ordered',
    of: (json) => new DuckDBTimestampValue(microsecondsSince1970(json as string)),
    show: (stored) => showDateTime((stored as DuckDBTimestampValue).micros),
    prepare: (json) => String(microsecondsSince1970(json as string)),
    read: (given) => `make_timestamp(CAST(${given} AS BIGINT))`,
  },
  duration: { ...text, comparing: 'equality' },
  json: {
    ...text,
    comparing: 'equality',
    of: canonicalJson,
    show: (stored) => JSON.parse(stored as string) as unknown,
    prepare: (json) => JSON.stringify(canonicalJson(json)),
  },
};

/** How cells of a column of this type are stored. */
export function storedType(type: ColumnType): StoredType {
  if (!isArrayType(type)) return scalars[type] ?? text;
  const { prepare, ...item } = itemOf(type);
  return {
    sql: `${item.sql}[]`,
    type: LIST(item.type),
    comparing: 'list',
    of: (json) => new DuckDBListValue((json as readonly unknown[]).map((element) => item.of(element))),
    prepare: prepare === null ? null : (json) => `[${(json as readonly unknown[]).map(prepare).join(',')}]`,
    read: (given) => `list_transform(from_json(${given}, '["VARCHAR"]'), lambda item: ${item.read('item')})`,
    show: (stored) => (stored as DuckDBListValue).items.map((element) => item.show(element)),
  };
}

/** How the items of a column of arrays are stored. */
function itemOf(type: ColumnType & `array<${ScalarKind}>`): StoredType {
  return storedType(itemKind(type));
}

/** JSON whose text is equal if the values are: keys in order of code units, no blanks. */
function canonicalJson(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(canonicalJson).join(',')}]`;
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  const members = Object.entries(json).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${canonicalJson(value)}`).join(',')}}`;
}

/** A sum may be beyond what a double holds; then it has no value. */
function showNumber(stored: DuckDBValue): number | null {
  return Number.isFinite(stored) ? (stored as number) : null;
}

export function showDate(days: number): string {
  const iso = new Date(days * 86_400_000).toISOString();
  return iso.slice(0, iso.indexOf('T'));
}

export function showDateTime(microseconds: bigint): string {
  const day = 86_400_000_000n;
  const rest = ((microseconds % day) + day) % day;
  return `${showDate(Number((microseconds - rest) / day))}T${showTime(rest)}Z`;
}

/**
 * A moment as a time: in UTC, or with the hours of an offset if it is before midnight in UTC or after it. So different
 * moments look different.
 */
export function showTime(microseconds: bigint): string {
  const hour = 3_600_000_000;
  const given = Number(microseconds);
  const hours = given < 0 ? Math.ceil(-given / hour) : -Math.max(0, Math.floor(given / hour) - 23);
  const rest = given + hours * hour;
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const fraction = rest % 1_000_000;
  const time = `${two(rest / 3_600_000_000)}:${two((rest / 60_000_000) % 60)}:${two((rest / 1_000_000) % 60)}`;
  const offset = hours === 0 ? '' : `${hours < 0 ? '-' : '+'}${two(Math.abs(hours))}:00`;
  return `${fraction === 0 ? time : `${time}.${String(fraction).padStart(6, '0').replace(/0+$/, '')}`}${offset}`;
}
