/**
 * Presents stored rows under the current schema (docs/spec/decisions.md 2). A received value is fitted to the type
 * under which it was decided; misfits are dropped for good. Then each later type of its column is applied in order. A
 * value that does not fit one of them is empty from then on (docs/decisions/0077).
 */
import { fitCell } from './cell-value.ts';
import { isArrayType, isTextKind, itemKind, scalarTraits, typeBit } from './column-type.ts';
import type { ColumnType } from './column-type.ts';
import { convertToken, isSafe } from './convert-token.ts';
import { fitToken } from './fit-value.ts';
import { decodeString } from './json-text.ts';
import { storedAs } from './profile.ts';
import type { ColumnProfile, Profile } from './profile.ts';
import { eachCell } from './row-text.ts';
import { cellFormOf, fitsBy } from './rule.ts';
import type { CellForm, Rule } from './rule.ts';
import { columnPlaces, typeAt } from './table-schema.ts';
import type { SchemaColumn, TableSchema } from './table-schema.ts';

export { applyPatch } from './patch-row.ts';

const quote = 34;

/**
 * The form of a stored body. `received`: the JSON object that a client sent. `cells`: an object whose values are the
 * texts of CSV or TSV cells. `presented`: as the schema of its version presented it (tails and changes).
 */
export type StoredForm = 'received' | 'cells' | 'presented';

/**
 * How a body is stored: its form, and the version whose types apply. `wrap` and `rule` matter only if it is not
 * `presented`.
 */
export interface BodyForm {
  readonly stored: StoredForm;
  readonly decidedAt: bigint;
  /** Whether a value that fits the items of an array column became an array of one. */
  readonly wrap: boolean;
  /** The rule by which values fit. */
  readonly rule: Rule;
}

/** The stored form of rows received as cells, or as JSON. */
export function receivedForm(cells: boolean): StoredForm {
  return cells ? 'cells' : 'received';
}

/** Returns a body as the schema presents it: columns in schema order, without misfits and removed columns. */
export type Presenter = (body: string) => string;

/** The presenter of bodies that read as they are stored. */
export const asStored: Presenter = (body) => body;

export type PresenterFor = (form: BodyForm) => Presenter;

/** How to read the cells under a key. */
interface Reading {
  /** The key as JSON text. */
  readonly key: string;
  /** The place of its column in the schema. */
  readonly place: number;
  /** The key as it is presented, with its colon. */
  readonly presented: string;
  /** Reads a cell; null if the cells belong to no column. */
  readonly read: ((token: string) => string | undefined) | null;
  /** The reading that is expected after it, because rows are much alike. */
  next: Reading | null;
}

/**
 * A presenter for bodies that are all stored alike. It caches its work per column, so reuse it for many rows. `schema`:
 * the schema to read by.
 */
export function presenterOf(schema: TableSchema, form: BodyForm): Presenter {
  const places = columnPlaces(schema);
  const readings = new Map<string, Reading>();
  const beforeFirst: Reading = { key: '', place: -1, presented: '', read: null, next: null };
  // The last row that had to be sorted: the readings of its cells, and their order. The next row to sort mostly has the
  // same.
  let sorted: readonly Reading[] = [];
  let order: readonly number[] = [];

  const readingOf = (slice: string): Reading => {
    // A slice would keep the text of all rows from which it was cut.
    const key = Buffer.from(slice).toString();
    const place = places.get(decodeString(key));
    if (place === undefined) return { key, place: -1, presented: '', read: null, next: null };
    const column = schema.columns[place]!;
    return { key, place, presented: `${JSON.stringify(column.id)}:`, read: readerOf(column, form), next: null };
  };

  const lookUp = (key: string, before: Reading): Reading => {
    const reading = readings.get(key) ?? readingOf(key);
    readings.set(reading.key, reading);
    before.next = reading;
    return reading;
  };

  return (body) => {
    const cells: string[] = [];
    const found: Reading[] = [];
    let inOrder = true;
    let reading = beforeFirst;
    eachCell(body, (key, token) => {
      reading = reading.next?.key === key ? reading.next : lookUp(key, reading);
      const text = reading.read?.(token);
      if (text === undefined) return;
      inOrder &&= found.length === 0 || found.at(-1)!.place < reading.place;
      found.push(reading);
      cells.push(reading.presented + text);
    });
    if (inOrder) return `{${cells.join(',')}}`;
    if (found.length !== sorted.length || found.some((one, at) => one !== sorted[at])) {
      sorted = found;
      order = cells.map((_, at) => at).sort((a, b) => found[a]!.place - found[b]!.place);
    }
    let presented = '';
    for (const at of order) presented += presented === '' ? cells[at]! : `,${cells[at]!}`;
    return `{${presented}}`;
  };
}

/**
 * The presenters of a table at a version, by stored form, each created once. `schema`: the schema at that version.
 * `widened`: the version of the last widening of a column.
 */
export function presentersOf(schema: TableSchema, widened: bigint): PresenterFor {
  const made = new Map<string, Presenter>();
  return (form) => {
    if (form.stored === 'presented' && widened <= form.decidedAt) return asStored;
    const key = `${form.decidedAt} ${form.stored} ${form.wrap} ${form.rule}`;
    const presenter = made.get(key) ?? presenterOf(schema, form);
    made.set(key, presenter);
    return presenter;
  };
}

/** Reads a column's values; null if the column did not exist when they were decided. */
function readerOf(column: SchemaColumn, { decidedAt, stored, wrap, rule }: BodyForm): Reading['read'] {
  const decided = typeAt(column, decidedAt);
  if (decided === undefined) return null;
  const later = typesAfter(column, decidedAt);
  const convert = (token: string): string | undefined => {
    let from = decided;
    let text: string | undefined = token;
    for (const to of later) {
      text = convertToken(text, from, to);
      if (text === undefined) return undefined;
      from = to;
    }
    return text;
  };
  if (stored === 'presented') return convert;
  const isCell = stored === 'cells';
  const cells = cellFormOf(rule);
  return (token) => {
    // Rows that may patch others keep their nulls.
    if (token === 'null') return undefined;
    const fitted = isCell ? fitStoredCell(token, decided, wrap, cells) : fitToken(token, decided, wrap);
    return fitted === undefined || !fitsBy(rule, { text: isCell ? cellText(token) : token, isCell }, fitted, decided)
      ? undefined
      : convert(fitted);
  };
}

/**
 * A stored cell as `fitCell` presents it. A string token contains the cell's text; a number or boolean token is the
 * text.
 */
function fitStoredCell(token: string, type: ColumnType, wrap: boolean, form: CellForm): string | undefined {
  if (token.charCodeAt(0) !== quote) return fitCell(token, type, wrap, form);
  return !isArrayType(type) && isTextKind(type) ? token : fitCell(decodeString(token), type, wrap, form);
}

/** The text of a stored cell. */
function cellText(token: string): string {
  return token.charCodeAt(0) === quote ? decodeString(token) : token;
}

function typesAfter(column: SchemaColumn, version: bigint): ColumnType[] {
  return column.types.filter((entry) => entry.since > version).map((entry) => entry.type);
}

const anyArray =
  storedAs.emptyArray | storedAs.stringArray | storedAs.numberArray | storedAs.booleanArray | storedAs.otherArray;
/** Bits of `storedAs` that are not kinds of values. */
const noKinds = storedAs.cell | storedAs.givenType;
const anything = storedAs.string | storedAs.number | storedAs.boolean | anyArray | storedAs.object;

/** Whether rows with this profile came as cells. All rows of one block have the same form. */
export function holdsCells(profile: Profile): boolean {
  return profile.columns.some((column) => (column.stored & storedAs.cell) !== 0);
}

/** The kinds of stored values (bits of `storedAs`) that a type presents unchanged. */
function plainKinds(type: ColumnType): number {
  const item = isArrayType(type) ? itemKind(type) : type;
  const { json } = scalarTraits[item];
  if (json === 'any') return isArrayType(type) ? anyArray : anything;
  return isArrayType(type) ? storedAs.emptyArray | storedAs[`${json}Array`] : storedAs[json];
}

/**
 * Whether received bodies with this profile, decided at this version, read as they are stored: each column is in the
 * schema, in its order, and none of its values was dropped or is presented differently now.
 */
export function isPlain(profile: Profile, schema: TableSchema, version: bigint): boolean {
  const places = columnPlaces(schema);
  let last = -1;
  for (const values of profile.columns) {
    // A column with only nulls or empty cells is in no body.
    if ((values.stored & ~noKinds) === 0) continue;
    const place = places.get(values.id);
    if (place === undefined || place < last || !isPlainColumn(values, schema.columns[place]!, version, profile.rule))
      return false;
    last = place;
  }
  return true;
}

function isPlainColumn(values: ColumnProfile, column: SchemaColumn, version: bigint, rule: Rule): boolean {
  const decided = typeAt(column, version);
  if (decided === undefined) return false;
  const bit = typeBit(decided);
  if (values.misfits.some((misfit) => (misfit.types & bit) !== 0)) return false;
  const isCell = (values.stored & storedAs.cell) !== 0;
  // In a `json` column, a string that stores a cell is the text of another JSON value.
  if (isCell && decided === 'json' && (values.stored & storedAs.string) !== 0) return false;
  // Dates may be in the format of their file.
  if (isCell && (decided === 'date' || decided === 'dateTime') && cellFormOf(rule).dateFormat !== null) return false;
  const kinds = values.stored & ~noKinds;
  const types = [decided, ...typesAfter(column, version)];
  return types.every((type, at) => (kinds & ~plainKinds(type)) === 0 && (at === 0 || isSafe(types[at - 1]!, type)));
}
