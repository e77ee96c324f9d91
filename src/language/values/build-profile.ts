/** Builds profiles: value by value while rows arrive, and from the profiles of parts. */
import { allTypes, arraysOfTypes, itemTypesIn, scalarTypes } from './column-type.ts';
import type { ColumnType, TypeSet } from './column-type.ts';
import { boundOfKnown, leastUpperBound } from './lattice.ts';
import type { CellCount, ColumnProfile, Misfit, Place, Profile } from './profile.ts';
import { storedAs } from './profile.ts';
import { currentRule, joinedRule } from './rule.ts';
import type { Rule } from './rule.ts';
import { isSettledForStrings, naturalOfString, stringTypes } from './string-types.ts';

const excerptLength = 60;

/** A value's JSON text for an error message: at most 60 characters, ending with an ellipsis if it was cut. */
export function excerptOf(token: string): string {
  if (token.length <= excerptLength) return token;
  const cut = token.slice(0, excerptLength - 1);
  // Half a surrogate pair would not survive UTF-8.
  return `${cut.isWellFormed() ? cut : cut.slice(0, -1)}…`;
}

/** A column while its profile grows. Only ProfileBuilder writes to it, except for `stored` (see there). */
export interface GrowingColumn {
  readonly id: string;
  readonly first: Place;
  /** The types that every value so far fits. */
  fitting: TypeSet;
  /** The scalar types T for which every value so far fits T or array of T. */
  wrapping: TypeSet;
  natural: ColumnType | null;
  /** Bits of `storedAs`. A scanner that knows only at the end how it stores a column may set it before `build`. */
  stored: number;
  readonly misfits: Misfit[];
  /** How many values fit exactly these types. */
  readonly counts: Map<TypeSet, number>;
}

/** Whether a value that fits `fits` is the column's first misfit of some type. */
export function isMisfit(column: GrowingColumn, fits: TypeSet): boolean {
  return ((column.fitting & ~fits) | (column.wrapping & ~(fits | itemTypesIn(fits)))) !== 0;
}

/** Collects the profile of some rows. Values are added in the order of their places. Nulls are not values. */
export class ProfileBuilder {
  /** Whether to count the values of each column by the types that they fit. */
  readonly counts: boolean;
  readonly #columns = new Map<string, GrowingColumn>();

  constructor(counts = false) {
    this.counts = counts;
  }

  /**
   * The column with this ID. The first call determines where the column first appears, so call it also for a null, an
   * empty cell and a name in a header. The profile lists columns in the order of these first calls.
   */
  column(id: string, row: number, position: number): GrowingColumn {
    const known = this.#columns.get(id);
    if (known !== undefined) return known;
    const column: GrowingColumn = {
      id,
      first: { row, position },
      fitting: allTypes,
      wrapping: scalarTypes,
      natural: null,
      stored: 0,
      misfits: [],
      counts: new Map(),
    };
    this.#columns.set(id, column);
    return column;
  }

  /** The types for which the next value matters: the candidates for `classify` or `stringTypes`. */
  candidates({ fitting, wrapping }: GrowingColumn): TypeSet {
    return this.counts ? allTypes : fitting | wrapping | arraysOfTypes(wrapping);
  }

  /**
   * Adds a value.
   * @param fits the types that it fits, at least among the candidates
   * @param natural its natural type; null if that adds nothing
   * @param stored its bit of `storedAs`
   * @param excerpt returns the value's JSON text; called only if the value is a misfit
   */
  add(
    column: GrowingColumn,
    row: number,
    position: number,
    fits: TypeSet,
    natural: ColumnType | null,
    stored: number,
    excerpt: () => string,
  ): void {
    if (isMisfit(column, fits)) {
      const wrappedFits = (fits & scalarTypes) | itemTypesIn(fits);
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
    if (this.counts) column.counts.set(fits, (column.counts.get(fits) ?? 0) + 1);
  }

  /** Adds a decoded JSON string. Tests only the types that are still open. */
  addString(column: GrowingColumn, row: number, position: number, text: string): void {
    const fits = stringTypes(text, this.candidates(column));
    const natural = isSettledForStrings(column.natural) ? null : naturalOfString(text);
    this.add(column, row, position, fits, natural, storedAs.string, () => JSON.stringify(text));
  }

  /**
   * The profile of the rows so far.
   * @param bytes length of the bodies in UTF-8, without separators
   * @param rowBytesMax length of the longest body
   * @param dropped how many cells were dropped
   */
  build(rows: number, bytes: number, rowBytesMax: number, dropped = 0): Profile {
    const isCounted = this.counts || rows === 0;
    const columns = Array.from(
      this.#columns.values(),
      ({ id, first, natural, stored, misfits, counts }): ColumnProfile => ({
        id,
        first,
        natural,
        stored,
        misfits: [...misfits],
        ...(isCounted ? { counts: [...counts] } : {}),
      }),
    );
    return {
      rows,
      bytes,
      rowBytesMax,
      columns,
      rule: currentRule,
      ...(isCounted ? { dropped } : {}),
      ...(!isCounted && columns.length === 0 ? { isUncounted: true } : {}),
    };
  }
}

/** The profile of no rows. */
export const emptyProfile: Profile = { rows: 0, bytes: 0, rowBytesMax: 0, columns: [], rule: currentRule };

/**
 * Concatenates the profiles of consecutive parts, in time proportional to their columns. The result lists columns in
 * order of first appearance; the bodies of each part keep their own order.
 */
export class ProfileChain {
  readonly #columns = new Map<string, ColumnProfile>();
  #rows = 0;
  #bytes = 0;
  #rowBytesMax = 0;
  #rule: Rule = currentRule;
  /** Undefined while no part has counted. */
  #dropped: number | undefined;
  /** Whether a part has rows or columns that it did not count. */
  #isUncounted = false;

  /** How many rows the parts have so far. */
  get rows(): number {
    return this.#rows;
  }

  /** How many different columns the parts have so far. */
  get columnCount(): number {
    return this.#columns.size;
  }

  add({ rows, bytes, rowBytesMax, columns, rule, dropped, isUncounted }: Profile): void {
    for (const column of columns) {
      const later = shifted(column, this.#rows);
      const before = this.#columns.get(column.id);
      this.#columns.set(column.id, before === undefined ? later : joined(before, later));
    }
    this.#rows += rows;
    this.#bytes += bytes;
    this.#rowBytesMax = Math.max(this.#rowBytesMax, rowBytesMax);
    this.#rule = joinedRule(this.#rule, rule);
    if (dropped !== undefined) this.#dropped = (this.#dropped ?? 0) + dropped;
    else this.#isUncounted ||= isUncounted === true || columns.length > 0;
  }

  build(): Profile {
    const whole = { rows: this.#rows, bytes: this.#bytes, rowBytesMax: this.#rowBytesMax, rule: this.#rule };
    if (this.#dropped !== undefined && !this.#isUncounted)
      return { ...whole, columns: [...this.#columns.values()], dropped: this.#dropped };
    const columns = Array.from(this.#columns.values(), ({ counts: _counts, ...column }) => column);
    return { ...whole, columns, ...(this.#isUncounted && columns.length === 0 ? { isUncounted: true } : {}) };
  }
}

/** The profile of all these parts, in order. Associative; `emptyProfile` is its identity. */
export function concatenateAll(parts: Iterable<Profile>): Profile {
  const chain = new ProfileChain();
  for (const part of parts) chain.add(part);
  return chain.build();
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
    natural: joinedNatural(a, b),
    stored: a.stored | b.stored,
    misfits: fresh.length === 0 ? a.misfits : [...a.misfits, ...fresh],
    ...(a.counts && b.counts ? { counts: addedCounts(a.counts, b.counts) } : {}),
  };
}

/** The joined natural type. A type that the request states overrides types of values. */
function joinedNatural(a: ColumnProfile, b: ColumnProfile): ColumnType | null {
  const isGiven = a.stored & storedAs.givenType;
  if (isGiven !== (b.stored & storedAs.givenType)) return (isGiven === 0 ? b : a).natural;
  return boundOfKnown(a.natural, b.natural);
}

function addedCounts(a: readonly CellCount[], b: readonly CellCount[]): CellCount[] {
  const sums = new Map(a);
  for (const [fits, cells] of b) sums.set(fits, (sums.get(fits) ?? 0) + cells);
  return [...sums];
}
