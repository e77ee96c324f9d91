/** The first line of CSV and TSV, which names the columns (spec 4.2, decisions 2 and 6). */
import type { GrowingColumn } from '../values/build-profile.ts';
import type { ColumnType } from '../values/column-type.ts';
import { isReservedColumnId } from '../values/decide-schema.ts';
import type { DelimitedForm } from './delimited-form.ts';
import { MalformedBody } from '../values/malformed-body.ts';
import type { RowReaderLimits } from './row-reader-limits.ts';
import type { RowsRefusal } from './row-reader.ts';
import type { ColumnWatch } from './text-cells.ts';
import { rowIdKey } from './row-scanner.ts';

/** A column of a header, with its state while a block grows. */
export class CellColumn {
  readonly id: string;
  /** Its position in the header. */
  readonly position: number;
  /** Its position in the column order of bodies. */
  readonly index: number;
  /** The key as JSON text. */
  readonly key: string;
  /** Bytes in a body besides its value's text: a comma, the key, a colon and quotes. */
  readonly overheadBytes: number;

  /** The column in the profile of the current block; null while the block has no such column. */
  growing: GrowingColumn | null = null;
  /** Whether further cells cannot change the profile. */
  settled = false;
  /** Collects its cells for a remark; null: no longer, or not at all. */
  watch: ColumnWatch | null = null;
  /** Whether its cell in the header is empty. */
  readonly isUnnamed: boolean;
  /**
   * Whether it becomes a column only when a row has a value for it, because its cell in the header and all cells after
   * it are empty.
   */
  readonly isOptional: boolean;
  /** Whether a row has a value for it, or the first block names it. */
  isThere = false;

  /** Its type, if the request states it. */
  readonly given: ColumnType | null;

  constructor(
    id: string,
    position: number,
    index: number,
    isUnnamed: boolean,
    isOptional: boolean,
    given: ColumnType | null,
  ) {
    this.id = id;
    this.given = given;
    this.isUnnamed = isUnnamed;
    this.isOptional = isOptional;
    this.position = position;
    this.index = index;
    this.key = JSON.stringify(id);
    this.overheadBytes = Buffer.byteLength(this.key) + 4;
  }
}

export interface DelimitedHeader {
  /** All IDs in the line, including `$rowID`. */
  readonly ids: readonly string[];
  /** By position in the header; null for `$rowID`. */
  readonly columns: readonly (CellColumn | null)[];
  /** In the column order of bodies. */
  readonly ordered: readonly CellColumn[];
  /** The position of `$rowID`; -1 if the header has none. */
  readonly rowIdAt: number;
  /**
   * How many cells the line has. If there are more than the maximum of columns, the lists here lack the rest, and
   * `refusal` says why.
   */
  readonly width: number;
  /** The refusal for the first ID that is reserved, repeated or one too many; null if there is none. */
  readonly refusal: RowsRefusal | null;
  /** The position after the last cell that is not empty. */
  readonly namedEnd: number;
  /** The positions of names in another normal form of Unicode than their IDs. */
  readonly renormalized: readonly number[];
}

/**
 * Reads the header.
 * @param known column IDs whose order is already fixed: they come first in bodies
 * @throws MalformedBody for an ID that is too long
 */
export function readDelimitedHeader(
  cells: readonly string[],
  known: readonly string[],
  limits: RowReaderLimits,
  { columns: given = {}, duplicateColumns, types = {} }: DelimitedForm,
): DelimitedHeader {
  // The header is refused at one of these cells at the latest. A line of 512 KiB may have half a million cells.
  const looked = cells.slice(0, limits.columns + 1);
  // Copy each cell: a slice would keep the whole text in memory for as long as the schema.
  const written = looked.map((cell) => Buffer.from(cell).toString());
  const idOf = columnIdByName(known, given, written);
  const names = written.map(idOf);
  const ids = nameAll(duplicateColumns === 'rename' ? renameDuplicates(names) : names);
  const seen = new Set<string>();
  let refusal: RowsRefusal | null = null;
  for (const [position, id] of ids.entries()) {
    const refuse = (type: RowsRefusal['type'], reason: string): void => {
      refusal ??= { type, message: `${placeInHeader(position)}: ${reason}` };
    };
    if (Buffer.byteLength(id) > limits.columnIdBytes) {
      throw malformedAt(position, `a column ID must not be longer than ${limits.columnIdBytes} bytes`);
    }
    if (seen.has(id)) refuse('column_id_not_unique', `the column ID ${JSON.stringify(id)} occurs twice`);
    if (isReservedColumnId(id) && id !== rowIdKey)
      refuse('column_id_reserved', `the column ID ${JSON.stringify(id)} is reserved`);
    seen.add(id);
    if (seen.size > limits.columns) refuse('limit_exceeded', `more than ${limits.columns} columns`);
  }

  const order = new Map(known.map((id, index) => [id, index]));
  const namedEnd = looked.findLastIndex((cell) => cell !== '') + 1;
  const columns = ids.map((id, position) => {
    return id === rowIdKey
      ? null
      : new CellColumn(
          id,
          position,
          order.get(id) ?? known.length + position,
          looked[position] === '',
          position >= namedEnd,
          Object.hasOwn(types, id) ? types[id]! : null,
        );
  });
  const ordered = columns.filter((column) => column !== null).sort(byIndex);
  const renormalized = [...names.keys()].filter(
    (position) => names[position] !== written[position] && nfcOf(names[position]!) === nfcOf(written[position]!),
  );
  return {
    ids,
    columns,
    ordered,
    rowIdAt: ids.indexOf(rowIdKey),
    width: cells.length,
    namedEnd,
    renormalized,
    refusal,
  };
}

/**
 * The ID of the column that a name in the header means. In this order: the ID that the person stated; the column of the
 * table with exactly this name; the column whose ID differs only in its normal form; the name in NFC. An ID that the
 * person stated for one name does not apply to a name that differs only in its normal form.
 * @param names the names in the header
 */
export function columnIdByName(
  known: readonly string[],
  given: Readonly<Record<string, string>>,
  names: readonly string[],
): (name: string) => string {
  const exact = new Set(known);
  const alike = new Map(known.toReversed().map((id) => [nfcOf(id), id]));
  for (const id of known) if (nfcOf(id) === id) alike.set(id, id);
  const written = new Set(names);
  const givenAlike = new Map(
    Object.keys(given)
      .filter((name) => !written.has(name))
      .toReversed()
      .map((name) => [nfcOf(name), given[name]!]),
  );
  return (name) => {
    if (Object.hasOwn(given, name)) return given[name]!;
    const normal = nfcOf(name);
    return givenAlike.get(normal) ?? (exact.has(name) ? name : (alike.get(normal) ?? normal));
  };
}

function nfcOf(name: string): string {
  return name.normalize('NFC');
}

/**
 * The header of a body without one: a column for each cell of its first line.
 * @throws MalformedBody for an ID that is too long
 */
export function headerOfAbsent(
  { length }: readonly string[],
  known: readonly string[],
  limits: RowReaderLimits,
  form: DelimitedForm,
): DelimitedHeader {
  return readDelimitedHeader(
    Array.from({ length }, (_, position) => `column_${position + 1}`),
    known,
    limits,
    form,
  );
}

/**
 * The names, with `_2`, `_3` and so on after repeated ones. Empty names stay. In linear time: each name continues with
 * its last number.
 */
function renameDuplicates(names: readonly string[]): string[] {
  const taken = new Set(names);
  const nextOf = new Map<string, number>();
  return names.map((name) => {
    const from = nextOf.get(name);
    if (from === undefined) {
      if (name !== '') nextOf.set(name, 2);
      return name;
    }
    const { id, next } = unlike(taken, name, from);
    nextOf.set(name, next);
    return id;
  });
}

/**
 * The IDs of the columns. A column without a name is `column_<n>` by its place in the line, with `_2` after it if
 * another column has that name.
 */
function nameAll(cells: readonly string[]): string[] {
  const taken = new Set(cells);
  return cells.map((cell, position) => {
    if (cell !== '') return cell;
    return unlike(taken, `column_${position + 1}`, null).id;
  });
}

/**
 * The name, with `_2`, `_3` and so on after it if it is taken. The result is then taken. `from`: the first number to
 * try; null: try the name without a number first.
 */
function unlike(taken: Set<string>, name: string, from: number | null): { readonly id: string; readonly next: number } {
  let next = from ?? 2;
  let id = from === null ? name : `${name}_${next++}`;
  while (taken.has(id)) id = `${name}_${next++}`;
  taken.add(id);
  return { id, next };
}

/** The end of the note on a column that has neither a name nor values. */
export const leftOut = ' and no values, and was left out';

/** Notes on names in another normal form of Unicode. They name the place, because the name itself may not be ASCII. */
export function noteRenormalized({ renormalized }: DelimitedHeader): string[] {
  return renormalized.map(
    (position) => `${placeInHeader(position)}: was written in another normal form of Unicode than its column`,
  );
}

/** Notes on columns without a name, once all rows have been read. */
export function noteUnnamed({ columns }: DelimitedHeader): string[] {
  return columns.flatMap((column) => {
    if (column === null || !column.isUnnamed) return [];
    return [`${column.id}: had no name${column.isThere ? '' : leftOut}`];
  });
}

function malformedAt(position: number, reason: string): MalformedBody {
  return new MalformedBody('request_validation_error', `${placeInHeader(position)}: ${reason}`);
}

/** Compares columns by the column order of bodies. */
export function byIndex(a: CellColumn, b: CellColumn): number {
  return a.index - b.index;
}

export function placeInHeader(position: number): string {
  return `header[${position}]`;
}
