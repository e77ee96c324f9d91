/** Profiles the rows of a block while they are read. */
import { ProfileBuilder, isMisfit } from '../values/build-profile.ts';
import type { GrowingColumn } from '../values/build-profile.ts';
import { noTypes, typeSet } from '../values/column-type.ts';
import { booleanTypes, classify, numberTypes } from '../values/json-value.ts';
import { isAtMost } from '../values/lattice.ts';
import { storedAs } from '../values/profile.ts';
import type { Profile } from '../values/profile.ts';
import { everyStringTypes, isSettledForStrings, naturalOfString, stringTypes } from '../values/string-types.ts';
import { lowerN } from '../values/json-scanner.ts';
import type { RowColumn } from './row-column.ts';
import type { RowScanner, ScannedRow } from './row-scanner.ts';

/** A string that fits none of these is naturally a `string`. */
const naturalStringTypes = typeSet('date', 'dateTime');
/** A number token of at most this many bytes is exact. */
const exactBytes = 15;

/** The kind (bit of `storedAs`) of a scalar by its first byte; 0 for null and for other values. */
const kinds = new Uint8Array(256);
for (const character of '-0123456789') kinds[character.charCodeAt(0)] = storedAs.number;
for (const character of 'tf') kinds[character.charCodeAt(0)] = storedAs.boolean;
kinds['"'.charCodeAt(0)] = storedAs.string;

export class RowProfiler {
  readonly #scanner: RowScanner;
  #builder: ProfileBuilder;
  #columns: RowColumn[] = [];
  #rows = 0;
  #bytes = 0;
  #rowBytesMax = 0;
  #dropped = 0;

  constructor(scanner: RowScanner) {
    this.#scanner = scanner;
    this.#builder = new ProfileBuilder(scanner.dropsCells);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Adds a row with a body of this many bytes. */
  add(row: ScannedRow, bodyBytes: number): void {
    const { bytes, count, columns, starts, ends } = row;
    for (let cell = 0; cell < count; cell += 1) {
      const start = starts[cell]!;
      const kind = kinds[bytes[start]!]!;
      if ((columns[cell]!.settled & kind) === 0 || (kind === storedAs.number && ends[cell]! - start > exactBytes)) {
        this.#addValue(row, cell, kind);
      }
    }
    this.#rows += 1;
    this.#dropped += row.dropped;
    this.#bytes += bodyBytes;
    if (bodyBytes > this.#rowBytesMax) this.#rowBytesMax = bodyBytes;
  }

  /** The profile of the rows since the last call. */
  take(): Profile {
    const profile = this.#builder.build(this.#rows, this.#bytes, this.#rowBytesMax, this.#dropped);
    const order = new Map(this.#columns.map((column) => [column.id, column.index]));
    for (const column of this.#columns) column.forgetBlock();
    this.#builder = new ProfileBuilder(this.#scanner.dropsCells);
    this.#columns = [];
    this.#rows = 0;
    this.#dropped = 0;
    this.#bytes = 0;
    this.#rowBytesMax = 0;
    return { ...profile, columns: profile.columns.toSorted((a, b) => order.get(a.id)! - order.get(b.id)!) };
  }

  #addValue({ bytes, columns, starts, ends }: ScannedRow, cell: number, kind: number): void {
    const column = columns[cell]!;
    if (column.index < 0) return;
    let { growing } = column;
    if (growing === null) {
      growing = column.growing = this.#builder.column(column.id, this.#rows, cell);
      this.#columns.push(column);
    }
    const start = starts[cell]!;
    const end = ends[cell]!;
    if (kind === storedAs.string) {
      this.#addString(growing, cell, this.#scanner.decode(start, end));
    } else if (bytes[start] !== lowerN) {
      const token = this.#scanner.text(start, end);
      const { fits, natural, stored } = classify(token, this.#builder.candidates(growing));
      this.#builder.add(growing, this.#rows, cell, fits, natural, stored, () => token);
    }
    if (!this.#builder.counts && isSettled(growing, kind)) column.settled |= kind;
  }

  /** Adds a string. While the natural type is open, also tests the types that determine it. */
  #addString(growing: GrowingColumn, cell: number, text: string): void {
    const isSettledNatural = isSettledForStrings(growing.natural);
    const fits = stringTypes(
      text,
      this.#builder.candidates(growing) | (isSettledNatural ? noTypes : naturalStringTypes),
    );
    const natural = isSettledNatural ? null : (fits & naturalStringTypes) === 0 ? 'string' : naturalOfString(text);
    this.#builder.add(growing, this.#rows, cell, fits, natural, storedAs.string, () => JSON.stringify(text));
  }
}

/** Whether no further value of this kind can change the column. */
function isSettled(column: GrowingColumn, kind: number): boolean {
  const { natural } = column;
  if (natural === null) return false;
  if (kind === storedAs.string) return isSettledForStrings(natural) && !isMisfit(column, everyStringTypes);
  if (kind === storedAs.number) return !isMisfit(column, numberTypes) && isAtMost('number', natural);
  return kind === storedAs.boolean && !isMisfit(column, booleanTypes) && isAtMost('boolean', natural);
}
