/** Reads the rows of a table, or of a query, from any place on: the interface goes from page to page. */
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
 * The version of the table that a row was read at: good for `ifMatch` of that row. Throws if it was read by no reader.
 */
export function versionSeen(row: GridRow): Version {
  const version = versions.get(row);
  if (version === undefined) throw new Error('nothing has read this row');
  return version;
}

/** The row with another cell, as it is shown before it is read anew. Its version stays that which was read. */
export function withCell(row: GridRow, columnID: string, value: unknown): GridRow {
  const changed = { ...row, [columnID]: value };
  versions.set(changed, versionSeen(row));
  return changed;
}

/** The most rows of a page: the way to a place that was never reached is made of such. */
const stepRows = 10_000;

/**
 * A view of a table. It remembers where pages go on, so that each place it has reached is one request away. Pages of a
 * query are all of one version; those of the table itself are of its present one.
 */
export class RowsReader {
  readonly #table: Table;
  readonly #view: View;
  /** How the rows from an index on are asked for. */
  #places = new Map<number, string | undefined>([[0, undefined]]);
  /** The number of rows of a query; null while it is unknown. */
  count: number | null = null;
  /** What says where the second row begins, and how many rows there were, when the places began to be remembered. */
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
   * Rows from an index on: as many as there are, up to `count`. One call after the other. Calls `onStep` with each
   * index on the way there.
   */
  read(start: number, count: number, onStep: (index: number) => void): Promise<GridRow[]> {
    const result = this.#turn.then(() => this.#read(start, count, onStep));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  /**
   * After a change of the table. The places of a query are of an old version. Those of the table itself stay good,
   * unless its rows were replaced, or have become fewer. `rows`: how many it has now.
   */
  renew(rows: number): Promise<void> {
    const result = this.#turn.then(() => this.#renew(rows));
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #renew(rows: number): Promise<void> {
    // It names the generation of the rows that it goes on in.
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

  /** The last place before an index that is known. */
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
