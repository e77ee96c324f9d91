/**
 * Decides the schema under which rows take effect, or why they are refused (spec 4.2 `onSchemaError`, decisions 2 and
 * 6). Uses only the profile of the rows, never their values.
 */
import type { Refusal } from './refusal.ts';
import { isArrayType, itemKind, noTypes, typeBit } from './column-type.ts';
import type { ColumnType } from './column-type.ts';
import { isExactNumber } from './json-text.ts';
import { boundOfKnown, leastUpperBound } from './lattice.ts';
import type { ColumnProfile, Misfit, Place, Profile } from './profile.ts';
import { storedAs } from './profile.ts';
import { currentType, findColumn, schemaOf } from './table-schema.ts';
import type { SchemaColumn, TableSchema } from './table-schema.ts';

export type SchemaErrorMode = 'abort' | 'dropColumns' | 'updateSchema';

interface SchemaRequest {
  /** Null: the schema is inferred from the rows. */
  readonly schema: TableSchema | null;
  readonly profile: Profile;
  readonly mode: SchemaErrorMode;
  /** The version of the event that brings the rows. New types are valid from it on. */
  readonly version: bigint;
  readonly columnsMax: number;
  /** The IDs of columns whose types are fixed in every mode: a value that does not fit is refused. */
  readonly fixed?: ReadonlySet<string> | undefined;
  /** Names a place in the request for messages, like `rows[3].age`. */
  readonly place: (place: Place, columnId: string) => string;
}

export type SchemaDecision =
  | { readonly refusal: Refusal }
  | {
      readonly schema: TableSchema;
      /** Whether the schema changed: it was inferred, widened or got new columns. */
      readonly changed: boolean;
      /** Whether an existing column changed its type, so that older values read differently now. */
      readonly widened: boolean;
    };

/** Whether clients may not use this column ID. */
export function isReservedColumnId(id: string): boolean {
  return id === '$stashID' || id === '$rowID';
}

/** Decides rows against a schema. Refuses with the first offending cell: by row, then by position in the row. */
export function decideSchema(request: SchemaRequest): SchemaDecision {
  const offence = firstOffence(request);
  if (offence !== undefined) return { refusal: offence.refusal() };

  const { schema: before, mode } = request;
  if (before !== null && mode !== 'updateSchema') return { schema: before, changed: false, widened: false };

  const known = before === null ? [] : widenedColumns(before, request);
  const added = newColumns(request);
  const refusal = checkColumnCount(known.length + added.length, request.columnsMax);
  if (refusal !== null && (before === null || added.length > 0)) return { refusal };

  const widened = before !== null && known.some((column, at) => column !== before.columns[at]);
  if (before !== null && !widened && added.length === 0) return { schema: before, changed: false, widened };
  return { schema: { columns: [...known, ...added] }, changed: true, widened };
}

/**
 * How many cells of decided rows do not take effect, including those that were dropped when the rows came. Undefined if
 * they were not counted.
 * @param wrap whether a value that fits the items of an array column becomes an array of one
 */
export function countDropped({ columns, dropped }: Profile, schema: TableSchema, wrap: boolean): number | undefined {
  if (dropped === undefined) return undefined;
  let sum = dropped;
  for (const { id, counts = [] } of columns) {
    const column = findColumn(schema, id);
    const type = column && currentType(column);
    const taken =
      type === undefined ? noTypes : typeBit(type) | (wrap && isArrayType(type) ? typeBit(itemKind(type)) : noTypes);
    for (const [fits, cells] of counts) if ((fits & taken) === 0) sum += cells;
  }
  return sum;
}

/** Refuses reserved or repeated column IDs in a client's schema; reports the first in its order. */
export function checkGivenSchema(columns: readonly { readonly id: string }[]): Refusal | null {
  const seen = new Set<string>();
  for (const [at, { id }] of columns.entries()) {
    const place = `schema.columns[${at}].id`;
    if (isReservedColumnId(id)) return reservedRefusal(place, id);
    if (seen.has(id)) {
      return { type: 'column_id_not_unique', message: `${place}: the column ID ${JSON.stringify(id)} occurs twice` };
    }
    seen.add(id);
  }
  return null;
}

/**
 * Refuses more columns than a table may have. Checked separately, after the cells (docs/spec/decisions.md 2,
 * "Refusals").
 */
export function checkColumnCount(count: number, columnsMax: number): Refusal | null {
  if (count <= columnsMax) return null;
  const message = `the table would have ${count} columns; at most ${columnsMax} are allowed`;
  return { type: 'limit_exceeded', message };
}

export function reservedRefusal(place: string, id: string): Refusal {
  return { type: 'column_id_reserved', message: `${place}: the column ID ${JSON.stringify(id)} is reserved` };
}

interface Offence extends Place {
  readonly refusal: () => Refusal;
}

function isBefore(a: Place, b: Place): boolean {
  return a.row < b.row || (a.row === b.row && a.position < b.position);
}

function firstOffence(request: SchemaRequest): Offence | undefined {
  let first: Offence | undefined;
  for (const column of request.profile.columns) {
    const offence = offenceOf(column, request);
    if (offence !== undefined && (first === undefined || isBefore(offence, first))) first = offence;
  }
  return first;
}

/** The first offence of one column. */
function offenceOf(column: ColumnProfile, request: SchemaRequest): Offence | undefined {
  const { schema, mode, place } = request;
  const known = schema === null ? undefined : findColumn(schema, column.id);
  const takesNewColumns = schema === null || mode === 'updateSchema';

  // A column's ID is at or before its first value, so an offence of the ID comes first.
  if (known === undefined && (takesNewColumns || mode === 'abort')) {
    const refuse = isReservedColumnId(column.id) ? reservedRefusal : takesNewColumns ? undefined : unknownRefusal;
    if (refuse) return { ...column.first, refusal: () => refuse(place(column.first, column.id), column.id) };
  }
  const given = (column.stored & storedAs.givenType) === 0 ? null : column.natural;
  if (known !== undefined && given !== null && given !== currentType(known)) {
    const reason = `the request says that the column has the type ${given}, but it has the type ${currentType(known)}`;
    return {
      ...column.first,
      refusal: () => ({ type: 'column_has_invalid_value', message: `${place(column.first, column.id)}: ${reason}` }),
    };
  }
  if (mode === 'dropColumns') return undefined;

  const adapts = takesNewColumns && request.fixed?.has(column.id) !== true;
  const type = adapts ? widestType(column, known) : currentType(known!);
  const misfit = adapts ? firstLeftOut(column, type) : firstMisfit(column, type);
  if (misfit === undefined) return undefined;
  const { row, position } = misfit;
  return { row, position, refusal: () => misfitRefusal(place(misfit, column.id), misfit, type) };
}

/**
 * The type that values must fit if columns adapt to them. For JSON it is `json`; only values that fit no type misfit
 * it. Cell texts that are not JSON misfit `json` too, so for cells it is the type that the column will have.
 */
function widestType(column: ColumnProfile, known: SchemaColumn | undefined): ColumnType {
  if ((column.stored & storedAs.cell) === 0) return 'json';
  return known === undefined ? (naturalWithEmptyArrays(column) ?? 'string') : widenedType(currentType(known), column);
}

/** The first value that neither fits a type nor can be wrapped into it. */
function firstLeftOut(column: ColumnProfile, type: ColumnType): Misfit | undefined {
  if (!isArrayType(type)) return firstMisfit(column, type);
  const item = typeBit(itemKind(type));
  return column.misfits.find((misfit) => (misfit.wrapped & item) !== 0);
}

export function unknownRefusal(place: string, id: string): Refusal {
  return { type: 'column_id_not_found', message: `${place}: the table has no column ${JSON.stringify(id)}` };
}

function misfitRefusal(place: string, misfit: Misfit, type: ColumnType): Refusal {
  // By rules before 3, an integer that a double cannot hold fits nothing. A string always fits `json`. A cell's text,
  // quoted here as a string, always fits `string`.
  const fitsNothing = (misfit.types & typeBit('json')) !== 0 && !misfit.value.startsWith('"');
  const reason = fitsNothing
    ? 'fits no type: it holds an integer that a 64-bit floating-point number cannot hold exactly'
    : `does not fit the column's type ${type}${type === 'number' && isBigInteger(misfit.value) ? ': a 64-bit floating-point number cannot hold it exactly' : ''}`;
  return { type: 'column_has_invalid_value', message: `${place}: ${misfit.value} ${reason}` };
}

function isBigInteger(token: string): boolean {
  return /^-?\d+$/.test(token) && !isExactNumber(token);
}

function firstMisfit(column: ColumnProfile, type: ColumnType): Misfit | undefined {
  const bit = typeBit(type);
  return column.misfits.find((misfit) => (misfit.types & bit) !== 0);
}

/** The existing columns, each unchanged or widened for the new values. */
function widenedColumns(before: TableSchema, { profile, version }: SchemaRequest): SchemaColumn[] {
  const profiles = new Map(profile.columns.map((column) => [column.id, column]));
  return before.columns.map((column) => {
    const values = profiles.get(column.id);
    const type = currentType(column);
    const wider = values === undefined ? type : widenedType(type, values);
    return wider === type ? column : { ...column, types: [...column.types, { since: version, type: wider }] };
  });
}

/**
 * The type that fits all these values. An array type stays if its misfits can be wrapped (docs/spec/decisions.md 6).
 */
function widenedType(type: ColumnType, values: ColumnProfile): ColumnType {
  if (firstMisfit(values, type) === undefined) return type;
  if (isArrayType(type)) {
    const item = typeBit(itemKind(type));
    if (values.misfits.every((misfit) => (misfit.wrapped & item) === 0)) return type;
    // An empty array fits, so it does not count.
    return leastUpperBound(type, values.natural ?? type);
  }
  return leastUpperBound(type, naturalWithEmptyArrays(values) ?? type);
}

/** The columns that the schema lacks, in order of appearance. */
function newColumns({ schema, profile, version }: SchemaRequest): readonly SchemaColumn[] {
  const added = profile.columns
    .filter((column) => schema === null || findColumn(schema, column.id) === undefined)
    .sort((a, b) => a.first.row - b.first.row || a.first.position - b.first.position)
    .map((column) => ({ id: column.id, type: naturalWithEmptyArrays(column) ?? ('string' as const) }));
  return schemaOf(added, version).columns;
}

/** The natural type of the values. An empty array counts as an array of string. Null if there is no value. */
function naturalWithEmptyArrays({ natural, stored }: ColumnProfile): ColumnType | null {
  return boundOfKnown(natural, (stored & storedAs.emptyArray) === 0 ? null : 'array<string>');
}
