/**
 * Reads the rows of a table or a query from any place. The interface has only pages, each with a continuation to the
 * next.
 */
import type {
  AnyRow,
  Condition,
  RowsPage,
  RowsQuery,
  SortKey,
  StoredRow,
  Table,
  Version,
} from '../../../clients/typescript/src/index.ts';

export type GridRow = StoredRow<AnyRow>;

export interface View {
  readonly filter?: Condition<AnyRow>;
  readonly sort?: readonly (string | SortKey<string>)[];
}

const versions = new WeakMap<GridRow, Version>();

/**
 * The version of the table at which a row was read, for the `ifMatch` of that row. Throws if no reader has read the
 * row.
 */
export function versionSeen(row: GridRow): Version {
  const version = versions.get(row);
  if (version === undefined) throw new Error('nothing has read this row');
  return version;
}

/** The row with another cell, to show before the row is read again. The version stays the one at which it was read. */
export function withCell(row: GridRow, columnID: string, value: unknown): GridRow {
  const changed = { ...row, [columnID]: value };
  versions.set(changed, versionSeen(row));
  return changed;
}

/** The row with the cells that were written, which made this version of it. A null cell is empty. */
export function withCells(row: GridRow, cells: AnyRow, version: Version): GridRow {
  const written = Object.entries(cells).map(([id, value]) => [id, value ?? undefined] as const);
  const changed = { ...row, ...Object.fromEntries(written) };
  versions.set(changed, version);
  return changed;
}

/** Maximum of rows in a page. A place that was never reached is approached in steps of this size. */
const stepRows = 10_000;

/**
 * A view of a table. It remembers continuations, so that each place that it has reached is one request away. All pages
 * of a query show one version; pages of the table itself show the present one.
 */
export class RowsReader {
  readonly #table: Table;
  readonly #view: View;
  /** The continuations by the index of their first row. */
  #places = new Map<number, string | undefined>([[0, undefined]]);
  /** The number of rows of a query; null while it is unknown. */
  count: number | null = null;
  /** The continuation of the second row, and the number of rows, when the first place was remembered. */
  #mark: string | undefined;
  #rows = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(table: Table, view: View) {
    this.#table = table;
    this.#view = view;
  }

  isOf(view: View): boolean {
    return JSON.stringify(view) === JSON.stringify(this.#view);
  }

  get isQuery(): boolean {
    return this.#view.filter !== undefined || (this.#view.sort?.length ?? 0) > 0;
  }

  /**
   * Reads up to `count` rows from an index on. Calls run one after the other. Calls `onStep` with each index on the way
   * there.
   */
  read(start: number, count: number, onStep: (index: number) => void): Promise<GridRow[]> {
    const result = this.#turn.then(() => this.#read(start, count, onStep));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /**
   * Call it after a change of the table. The places of a query belong to an old version. The places of the table itself
   * stay valid, unless its rows were replaced or have become fewer. `rows`: how many rows it has now.
   */
  renew(rows: number): Promise<void> {
    const result = this.#turn.then(() => this.#renew(rows));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #renew(rows: number): Promise<void> {
    // A continuation names the generation of its rows.
    const mark = this.isQuery ? undefined : (await this.#table.rows({ limit: 1 }).page()).continuation;
    const isSame = mark !== undefined && mark === this.#mark && rows >= this.#rows;
    [this.#mark, this.#rows] = [mark, rows];
    if (isSame) return;
    this.#places = new Map([[0, undefined]]);
    this.count = null;
  }

  async #read(start: number, count: number, onStep: (index: number) => void): Promise<GridRow[]> {
    let at = this.#nearest(start);
    const rows: GridRow[] = [];
    while (rows.length < count) {
      const wanted = at < start ? Math.min(stepRows, start - at) : count - rows.length;
      const page = await this.#page(at, wanted);
      if (at >= start) rows.push(...page.data);
      at += page.data.length;
      if (page.continuation === undefined) break;
      this.#places.set(at, page.continuation);
      if (at < start) onStep(at);
    }
    return rows;
  }

  /** The last known place before an index. */
  #nearest(index: number): number {
    let nearest = 0;
    for (const place of this.#places.keys()) if (place <= index && place > nearest) nearest = place;
    return nearest;
  }

  async #page(at: number, limit: number): Promise<RowsPage<GridRow>> {
    const query = (
      this.isQuery ? { ...this.#view, ...(this.count === null && { count: 'exact' }), limit } : { limit }
    ) as RowsQuery<AnyRow>;
    const page = await this.#table.rows(query).page(this.#places.get(at));
    if (page.count !== undefined) this.count = page.count;
    for (const row of page.data) versions.set(row, page.version);
    return page;
  }
}
