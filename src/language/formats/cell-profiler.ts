/** Profiles the cells of a block while rows are read. */
import { ProfileBuilder, isMisfit } from '../values/build-profile.ts';
import type { GrowingColumn } from '../values/build-profile.ts';
import { classifyCell } from '../values/cell-value.ts';
import type { ColumnType } from '../values/column-type.ts';
import { cellFormOf, type CellForm, type Rule } from '../values/rule.ts';
import { storedAs } from '../values/profile.ts';
import type { Profile } from '../values/profile.ts';
import { everyCellTypes, isSettledForStrings } from '../values/string-types.ts';
import type { CellColumn, DelimitedHeader } from './delimited-header.ts';
import type { ColumnWatch } from './text-cells.ts';

export class CellProfiler {
  readonly #header: DelimitedHeader;
  readonly #counts: boolean;
  readonly #rule: Rule;
  readonly #form: CellForm;
  #builder: ProfileBuilder;
  /** The columns of the current block. */
  #columns: CellColumn[] = [];
  #rows = 0;
  /** Rows in earlier blocks. */
  #rowsBefore = 0;
  #dropped = 0;

  /**
   * `counts`: whether to count cells by the types that they fit. `rule`: the rule by which they fit, and their form.
   */
  constructor(header: DelimitedHeader, counts: boolean, rule: Rule) {
    this.#header = header;
    this.#counts = counts;
    this.#rule = rule;
    this.#form = cellFormOf(rule);
    this.#builder = new ProfileBuilder(counts);
  }

  /**
   * Adds all columns of the header to the current block, even if no row fills them. Leaves out columns that need a
   * value.
   */
  nameAll(): void {
    for (const column of this.#header.columns) {
      if (column !== null && !column.isOptional) this.#grow(column);
    }
  }

  /** Adds a row. `dropped`: how many of its cells were dropped. */
  add(cells: readonly string[], dropped: number): void {
    const { columns } = this.#header;
    for (let position = 0; position < cells.length; position += 1) {
      const column = columns[position]!;
      if (column === null || cells[position] === '') continue;
      if (!column.settled) this.#addCell(column, cells[position]!);
      else if (column.watch !== null) this.#watch(column, column.watch, cells[position]!, null);
    }
    this.#rows += 1;
    this.#dropped += dropped;
  }

  /** The profile of the rows since the last call. `bytes`: the length of their bodies. */
  take(bytes: number, rowBytesMax: number): Profile {
    const order = new Map(this.#columns.map((column) => [column.id, column.index]));
    for (const column of this.#columns) {
      column.growing!.stored = storedBits(column.growing!) | (column.given === null ? 0 : storedAs.givenType);
      column.growing = null;
      column.settled = false;
    }
    const profile = this.#builder.build(this.#rows, bytes, rowBytesMax, this.#dropped);
    this.#builder = new ProfileBuilder(this.#counts);
    this.#columns = [];
    this.#rowsBefore += this.#rows;
    this.#rows = 0;
    this.#dropped = 0;
    return {
      ...profile,
      rule: this.#rule,
      columns: profile.columns.toSorted((a, b) => order.get(a.id)! - order.get(b.id)!),
    };
  }

  #grow(column: CellColumn): GrowingColumn {
    column.growing = this.#builder.column(column.id, this.#rows, column.position);
    column.growing.natural = column.given;
    column.isThere = true;
    this.#columns.push(column);
    return column.growing;
  }

  #watch(column: CellColumn, watch: ColumnWatch, text: string, natural: ColumnType | null): void {
    watch.add(text, this.#rowsBefore + this.#rows, natural);
    if (watch.isSettled) column.watch = null;
  }

  #addCell(column: CellColumn, text: string): void {
    const growing = column.growing ?? this.#grow(column);
    const { fits, natural, stored } = classifyCell(text, this.#builder.candidates(growing), this.#form);
    this.#builder.add(growing, this.#rows, column.position, fits, column.given === null ? natural : null, stored, () =>
      JSON.stringify(text),
    );
    if (column.watch !== null) this.#watch(column, column.watch, text, natural);
    column.settled = !this.#counts && isSettledForStrings(growing.natural) && !isMisfit(growing, everyCellTypes);
  }
}

/** Whether the block stores the column's cell texts without quotes. */
export function isBare({ growing }: CellColumn): boolean {
  return growing !== null && (growing.stored === storedAs.number || growing.stored === storedAs.boolean);
}

/** How the block stores the column: as numbers or booleans if all cells agree, else as strings. */
function storedBits({ stored }: GrowingColumn): number {
  if (stored === 0 || stored === storedAs.number || stored === storedAs.boolean) return stored | storedAs.cell;
  return storedAs.string | storedAs.cell;
}
