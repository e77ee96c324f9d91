/**
 * How the columnar engine stores the cells of a column. Comparing, sorting and grouping the stored values gives the
 * results that docs/spec/queries.md defines for cells. The body of the row also has the cell as presented.
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

/** The supported comparisons: `text` and `number` include all of `ordered`; `equality` and `list` have no order. */
type Comparing = 'ordered' | 'text' | 'number' | 'equality' | 'list';

export interface StoredType {
  readonly sql: string;
  readonly type: DuckDBType;
  readonly comparing: Comparing;
  /** The stored value of a cell. `json` is the parsed cell, which fits the column. */
  readonly of: (json: unknown) => DuckDBValue;
  /**
   * Converts a cell with the code of src/language/values to the JSON text that DuckDB gets instead: moments, and JSON
   * in its canonical form. Null: DuckDB reads the cell itself, because all JSON parsers agree on texts, numbers and
   * booleans.
   */
  readonly prepare: ((json: unknown) => string) | null;
  /** The stored value, in SQL. `given` is the text of the cell or of its prepared form; JSON if that is an array. */
  readonly read: (given: string) => string;
  /** The JSON value for a stored value, such as a group. */
  readonly show: (stored: DuckDBValue) => unknown;
  /** The value in the SQL of clients. Null: as it is stored. */
  readonly inSql: Conversion | null;
  /** The value in a Parquet file. Null: as it is stored. */
  readonly inParquet: Conversion | null;
  /** The value in a Parquet column in which a moment has a zone. Null: its type has no zones. */
  readonly inZonedParquet: Conversion | null;
}

/** SQL that converts the stored value at a place. */
type Conversion = (place: string) => string;

const asStored = { inSql: null, inParquet: null, inZonedParquet: null } as const;

const text: StoredType = {
  sql: 'VARCHAR',
  type: VARCHAR,
  comparing: 'text',
  of: (json) => json as string,
  prepare: null,
  read: (given) => given,
  show: (stored) => stored,
  ...asStored,
};

const scalars: Readonly<Record<ScalarKind, StoredType>> = {
  string: text,
  uri: text,
  imageURI: text,
  audioURI: text,
  markdown: text,
  phoneNumber: text,
  emailAddress: text,
  emoji: text,
  number: {
    // Adding 0 turns -0 into 0.
    sql: 'DOUBLE',
    type: DOUBLE,
    comparing: 'number',
    of: (json) => (json as number) + 0,
    show: showNumber,
    prepare: null,
    read: (given) => `(CAST(${given} AS DOUBLE) + 0.0::DOUBLE)`,
    ...asStored,
  },
  boolean: {
    sql: 'BOOLEAN',
    type: BOOLEAN,
    comparing: 'ordered',
    of: (json) => json as boolean,
    show: (stored) => stored,
    prepare: null,
    read: (given) => `(${given} = 'true')`,
    ...asStored,
  },
  date: {
    sql: 'DATE',
    type: DATE,
    comparing: 'ordered',
    of: (json) => new DuckDBDateValue(daysOf(json as string)),
    show: (stored) => showDate((stored as DuckDBDateValue).days),
    prepare: (json) => String(daysOf(json as string)),
    read: (given) => `(DATE '1970-01-01' + CAST(${given} AS INTEGER))`,
    ...asStored,
  },
  time: {
    sql: 'BIGINT',
    type: BIGINT,
    comparing: 'ordered',
    of: (json) => BigInt(microsecondsOfDay(json as string)),
    show: (stored) => showTime(stored as bigint),
    prepare: (json) => String(microsecondsOfDay(json as string)),
    read: (given) => `CAST(${given} AS BIGINT)`,
    inSql: (place) => `CAST(make_timestamp(${place}) AS TIME)`,
    inParquet: (place) => `make_timestamp(${place})::TIME`,
    inZonedParquet: null,
  },
  dateTime: {
    sql: 'TIMESTAMP',
    type: TIMESTAMP,
    comparing: 'ordered',
    of: (json) => new DuckDBTimestampValue(microsecondsSince1970(json as string)),
    show: (stored) => showDateTime((stored as DuckDBTimestampValue).micros),
    prepare: (json) => String(microsecondsSince1970(json as string)),
    read: (given) => `make_timestamp(CAST(${given} AS BIGINT))`,
    inSql: null,
    inParquet: null,
    // A cast would use the time zone of the process.
    inZonedParquet: (place) => `make_timestamptz(epoch_us(${place}))`,
  },
  duration: { ...text, comparing: 'equality' },
  json: {
    ...text,
    comparing: 'equality',
    of: canonicalJson,
    show: (stored) => JSON.parse(stored as string) as unknown,
    prepare: (json) => JSON.stringify(canonicalJson(json)),
    inSql: (place) => `CAST(${place} AS JSON)`,
  },
};

/** The stored type of a column of this type. */
export function storedType(type: ColumnType): StoredType {
  if (!isArrayType(type)) return scalars[type];
  const { prepare, ...item } = itemOf(type);
  return {
    sql: `${item.sql}[]`,
    type: LIST(item.type),
    comparing: 'list',
    of: (json) => new DuckDBListValue((json as readonly unknown[]).map((element) => item.of(element))),
    prepare: prepare === null ? null : (json) => `[${(json as readonly unknown[]).map(prepare).join(',')}]`,
    read: (given) => `list_transform(from_json(${given}, '["VARCHAR"]'), lambda item: ${item.read('item')})`,
    show: (stored) => (stored as DuckDBListValue).items.map((element) => item.show(element)),
    inSql: eachItem(item.inSql),
    inParquet: eachItem(item.inParquet),
    inZonedParquet: eachItem(item.inZonedParquet),
  };
}

/** Converts each item of a list. */
function eachItem(convert: Conversion | null): Conversion | null {
  return convert && ((place) => `list_transform(${place}, lambda t: ${convert('t')})`);
}

/** The stored type of the items of a column of arrays. */
function itemOf(type: ColumnType & `array<${ScalarKind}>`): StoredType {
  return storedType(itemKind(type));
}

/** Canonical JSON: equal values have equal texts. Keys are in the order of code units, and there are no blanks. */
function canonicalJson(json: unknown): string {
  if (Array.isArray(json)) return `[${json.map(canonicalJson).join(',')}]`;
  if (typeof json !== 'object' || json === null) return JSON.stringify(json);
  const members = Object.entries(json).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, value]) => `${JSON.stringify(key)}:${canonicalJson(value)}`).join(',')}}`;
}

/** A sum that exceeds the range of a double is shown as null. */
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
 * Shows a time of day. If its UTC time falls on the day before or after, it is shown with an offset in hours, so that
 * different values look different.
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
