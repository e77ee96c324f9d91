/** Making profiles: value by value while rows arrive, and out of the profiles of parts. */
import { allTypes, scalarTypes } from './column-type.ts';
import type { ColumnType, TypeSet } from './column-type.ts';
import { boundOfKnown, leastUpperBound } from './lattice.ts';
import type { ColumnProfile, Misfit, Place, Profile } from './profile.ts';
import { storedAs } from './profile.ts';
import { isSettledForStrings, naturalOfString, stringTypes } from './string-types.ts';

const excerptLength = 60;

/** A value's JSON text for an error message: at most 60 characters, the last one an ellipsis if something was cut. */
export function excerptOf(token: string): string {
  if (token.length <= excerptLength) return token;
  const cut = token.slice(0, excerptLength - 1);
  // Half of a surrogate pair would not survive UTF-8.
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

/** A column while its profile grows. Only ProfileBuilder writes to it, except for `stored` (see there). */
export interface GrowingColumn {
  readonly id: string;
  readonly first: Place;
  /** The types that every value so far fits. */
  fitting: TypeSet;
  /** The scalar types T of which every value so far fits T or array of T. */
  wrapping: TypeSet;
  natural: ColumnType | null;
  /** Bits of `storedAs`. A scanner that only knows at the end how it stores a column may set it before `build`. */
  stored: number;
  readonly misfits: Misfit[];
}

/** The types for which the next value of the column matters: what to ask `classify` or `stringTypes` for. */
export function openTypes(column: GrowingColumn): TypeSet {
  return column.fitting | column.wrapping | (column.wrapping << 15);
}

/** Whether a value that fits `fits` is the first misfit of some type in this column. */
export function isMisfit(column: GrowingColumn, fits: TypeSet): boolean {
  return ((column.fitting & ~fits) | (column.wrapping & ~(fits | (fits >>> 15)))) !== 0;
}

/** Collects the profile of some rows. Values are given in the order of their places; nulls are not values. */
export class ProfileBuilder {
  readonly #columns = new Map<string, GrowingColumn>();

  /**
   * The column with this ID. What is asked for the first time appears at this place: call it for a null, an empty cell
   * and a name in a header too. The profile has its columns in the order of these first calls.
   */
  column(id: string, row: number, position: number): GrowingColumn {
    const known = this.#columns.get(id);
    if (known !== undefined) return known;
    const column: GrowingColumn = {
      id, first: { row, position }, fitting: allTypes, wrapping: scalarTypes, natural: null, stored: 0, misfits: [],
    };
    this.#columns.set(id, column);
    return column;
  }

  /**
   * Adds a value.
   * @param fits what the value fits, at least of `openTypes(column)`
   * @param natural its natural type; null if it has none to add
   * @param stored its bit of `storedAs`
   * @param excerpt gives the value's JSON text; called only if the value is a misfit
   */
  add(
    column: GrowingColumn, row: number, position: number,
    fits: TypeSet, natural: ColumnType | null, stored: number, excerpt: () => string,
  ): void {
    if (isMisfit(column, fits)) {
      const wrappedFits = (fits | (fits >>> 15)) & scalarTypes;
      const types = column.fitting & ~fits;
      const wrapped = column.wrapping & ~wrappedFits;
      column.misfits.push({ row, position, types, wrapped, value: excerptOf(excerpt()) });
      column.fitting &= fits;
      column.wrapping &= wrappedFits;
    }
    if (natural !== null && natural !== column.natural) {
      column.natural = column.natural === null ? natural : leastUpperBound(column.natural, natural);
    }
    column.stored |= stored;
  }

  /** Adds a JSON string, given by what it says (decoded). Asks of the text only what is still open. */
  addString(column: GrowingColumn, row: number, position: number, text: string): void {
    const fits = stringTypes(text, openTypes(column));
    const natural = isSettledForStrings(column.natural) ? null : naturalOfString(text);
    this.add(column, row, position, fits, natural, storedAs.string, () => JSON.stringify(text));
  }

  /**
   * The profile of the rows so far.
   * @param bytes of the bodies in UTF-8, without separators
   * @param rowBytesMax bytes of the longest body
   */
  build(rows: number, bytes: number, rowBytesMax: number): Profile {
    const columns = Array.from(this.#columns.values(), ({ id, first, natural, stored, misfits }): ColumnProfile =>
      ({ id, first, natural, stored, misfits: [...misfits] }));
    return { rows, bytes, rowBytesMax, columns };
  }
}

/** The profile of no rows: neutral in `concatenate`. */
export const emptyProfile: Profile = { rows: 0, bytes: 0, rowBytesMax: 0, columns: [] };

/**
 * Puts the profiles of parts together that follow each other; it takes as long as they have columns. The whole has its columns in
 * the order in which the parts bring them; the bodies of each part keep its own.
 */
export class ProfileChain {
  readonly #columns = new Map<string, ColumnProfile>();
  #rows = 0;
  #bytes = 0;
  #rowBytesMax = 0;

  /** How many rows the parts have so far. */
  get rows(): number {
    return this.#rows;
  }

  /** How many different columns. */
  get columnCount(): number {
    return this.#columns.size;
  }

  add({ rows, bytes, rowBytesMax, columns }: Profile): void {
    for (const column of columns) {
      const later = shifted(column, this.#rows);
      const before = this.#columns.get(column.id);
      this.#columns.set(column.id, before === undefined ? later : joined(before, later));
    }
    this.#rows += rows;
    this.#bytes += bytes;
    this.#rowBytesMax = Math.max(this.#rowBytesMax, rowBytesMax);
  }

  build(): Profile {
    return { rows: this.#rows, bytes: this.#bytes, rowBytesMax: this.#rowBytesMax, columns: [...this.#columns.values()] };
  }
}

/** The profile of the rows of all these parts. */
export function concatenateAll(parts: Iterable<Profile>): Profile {
  const chain = new ProfileChain();
  for (const part of parts) chain.add(part);
  return chain.build();
}

/** The profile of the rows of `a` followed by those of `b`. Associative. */
export function concatenate(a: Profile, b: Profile): Profile {
  return concatenateAll([a, b]);
}

function shifted(column: ColumnProfile, rows: number): ColumnProfile {
  if (rows === 0) return column;
  return {
    ...column,
    first: { row: column.first.row + rows, position: column.first.position },
    misfits: column.misfits.map((misfit) => ({ ...misfit, row: misfit.row + rows })),
  };
}

function joined(a: ColumnProfile, b: ColumnProfile): ColumnProfile {
  const seenTypes = a.misfits.reduce((set, misfit) => set | misfit.types, 0);
  const seenWrapped = a.misfits.reduce((set, misfit) => set | misfit.wrapped, 0);
  const fresh = b.misfits
    .map((misfit) => ({ ...misfit, types: misfit.types & ~seenTypes, wrapped: misfit.wrapped & ~seenWrapped }))
    .filter((misfit) => (misfit.types | misfit.wrapped) !== 0);
  return {
    id: a.id,
    first: a.first,
    natural: boundOfKnown(a.natural, b.natural),
    stored: a.stored | b.stored,
    misfits: fresh.length === 0 ? a.misfits : [...a.misfits, ...fresh],
  };
}
