/** Keeps the column order and the sort of tables for this tab, until the person signs out. */
import type { GridState, StateUpdatedEvent } from 'ag-grid-community';
import type { Column } from '../tables/column-types.ts';

interface Layout {
  /** IDs of columns of the grid. */
  readonly order: readonly string[];
  readonly sort: readonly { readonly colId: string; readonly sort: 'asc' | 'desc' }[];
}

/** `endSession` removes all keys that begin with `tablog.`. */
const key = 'tablog.layouts';
const tablesMax = 20;
/** A longer layout is not kept, because a browser keeps only some millions of characters for all layouts. */
const charactersMax = 100_000;

/** The initial state of a table's grid: its last state in this tab. Null: the default state. */
export function initialStateOf(tableID: string, columns: readonly Column[]): GridState | null {
  const layout = new Map(readAll()).get(tableID);
  if (layout === undefined) return null;
  const sortModel = layout.sort.filter(({ colId }) => columns.some(({ id }) => id === colId));
  return {
    partialColumnState: true,
    columnOrder: { orderedColIds: [...layout.order] },
    ...(sortModel.length > 0 && { sort: { sortModel } }),
  };
}

/** Keeps the column order and the sort if one of them has changed. */
export function keepState(tableID: string, { state, sources }: StateUpdatedEvent): void {
  if (!sources.includes('columnOrder') && !sources.includes('sort')) return;
  const sort = state.sort?.sortModel.map(({ colId, sort: direction }) => ({ colId, sort: direction })) ?? [];
  const layout = { order: state.columnOrder?.orderedColIds ?? [], sort };
  const isKept = JSON.stringify(layout).length <= charactersMax;
  const others = readAll().filter(([id]) => id !== tableID);
  sessionStorage.setItem(key, JSON.stringify([...others, ...(isKept ? [[tableID, layout]] : [])].slice(-tablesMax)));
}

function readAll(): [string, Layout][] {
  return JSON.parse(sessionStorage.getItem(key) ?? '[]') as [string, Layout][];
}
