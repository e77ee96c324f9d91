/** Which cells of some rows do not fit other types of their columns. */
import { excerptOf } from './build-profile.ts';
import type { ColumnType } from './column-type.ts';
import { convertToken } from './convert-token.ts';
import { decodeString } from './json-text.ts';
import { eachCell } from './row-text.ts';
import { currentType, findColumn, type TableSchema } from './table-schema.ts';

/** The cells of a column that do not fit another type. */
export interface ColumnMisfits {
  /** The column's ID. */
  readonly id: string;
  /** How many there are: one at least. */
  readonly cells: number;
  /** The row of the first one, in the order of the table, and its value as JSON text, cut to 60 characters. */
  readonly rowId: string;
  readonly value: string;
}

/** A cell of a row that does not fit. */
export type RowMisfit = Pick<ColumnMisfits, 'id' | 'value'>;

/** Tries the rows of a table, one by one in their order, under other types of some columns. */
export class MisfitSearch {
  readonly #columns = new Map<string, { readonly from: ColumnType; readonly to: ColumnType }>();
  readonly #found = new Map<string, { cells: number; readonly rowId: string; readonly value: string }>();

  /** `changes`: which columns of the schema get which types. */
  constructor(schema: TableSchema, changes: readonly { readonly id: string; readonly type: ColumnType }[]) {
    for (const { id, type } of changes) this.#columns.set(id, { from: currentType(findColumn(schema, id)!), to: type });
  }

  /** `body`: as the schema presents the row. Returns the misfits of this row; null if it has none. */
  add(rowId: string, body: string): readonly RowMisfit[] | null {
    let misfits: RowMisfit[] | null = null;
    eachCell(body, (key, token) => {
      const id = decodeString(key);
      const column = this.#columns.get(id);
      if (column === undefined || convertToken(token, column.from, column.to) !== undefined) return;
      const misfit = { id, value: excerptOf(token) };
      const found = this.#found.get(id);
      if (found === undefined) this.#found.set(id, { cells: 1, rowId, value: misfit.value });
      else found.cells += 1;
      misfits ??= [];
      misfits.push(misfit);
    });
    return misfits;
  }

  /** In the order of the changes. */
  get found(): readonly ColumnMisfits[] {
    return [...this.#columns.keys()].flatMap((id) => {
      const found = this.#found.get(id);
      return found === undefined ? [] : [{ id, ...found }];
    });
  }
}
