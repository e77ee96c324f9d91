/**
 * Tries whether the rows of a table fit other types of their columns: before a large table is changed, and for a dry
 * run (docs/decisions/0077). A trial reads a snapshot, so nobody waits for it, and yields the thread every few
 * milliseconds.
 */
import type { CopiedChange, CopiedExtent, CopiedRow } from '../../../../projections/tables/copied-rows.ts';
import type { CopyQueries } from '../../../../projections/tables/copies.queries.ts';
import { changedColumns, refusalOfKeptKey } from '../../../../projections/tables/decide-patch-table.ts';
import type { TableSnapshot, TableState } from '../../../../projections/tables/table-snapshot.ts';
import type { EventOf } from '../../../language/events/event.ts';
import { TimeSlices } from '../../../language/time-slices.ts';
import type { UnsafeChange } from '../../../language/values/change-columns.ts';
import { MisfitSearch, type ColumnMisfits, type RowMisfit } from '../../../language/values/column-misfits.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { FillTurns } from '../../query/engine/fill-turns.ts';

/** Maximum of trials at once: each takes a connection to Postgres, and time of the thread. */
const trialsAtOnce = 2;

/** The result of a trial. */
export interface Trial {
  /** The version of the table whose rows were tried. */
  readonly version: bigint;
  readonly unsafe: readonly UnsafeChange[];
  readonly misfits: readonly ColumnMisfits[];
}

export class ColumnTrials {
  readonly #queries: CopyQueries;
  readonly #turns = new FillTurns(trialsAtOnce);

  constructor(queries: CopyQueries) {
    this.#queries = queries;
  }

  /** Begins the trials for a request. */
  begin(event: EventOf<'TablePatchRequested'>): ColumnTrial {
    return new ColumnTrial(this.#queries, this.#turns, event);
  }
}

/** What was tried before: all rows at a version. */
interface Tried {
  readonly state: TableState;
  /** By place. */
  readonly rows: Map<string, MisfitRow>;
  /** The last extent, which may get more rows. */
  readonly last: CopiedExtent | null;
}

/** A row with misfits. */
interface MisfitRow extends Pick<CopiedRow, 'version' | 'ordinal' | 'index' | 'rowId'> {
  readonly misfits: readonly RowMisfit[];
}

/** How many rows with misfits are remembered at most. If there are more, each trial tries all rows. */
const misfitRowsMax = 100_000;

/** The trials for one request. */
export class ColumnTrial {
  readonly #queries: CopyQueries;
  readonly #turns: FillTurns;
  readonly #event: EventOf<'TablePatchRequested'>;
  #tried: Tried | null = null;

  constructor(queries: CopyQueries, turns: FillTurns, event: EventOf<'TablePatchRequested'>) {
    this.#queries = queries;
    this.#turns = turns;
    this.#event = event;
  }

  /**
   * Tries all rows of the table as they are now; if that was done before, only those that have changed since. Resolves
   * with the refusal if the columns cannot be changed like this, and with null if the team has no such table or may not
   * use it. Rejects with the reason of the signal if the client has gone.
   */
  async try(gone: AbortSignal): Promise<Trial | { readonly refusal: Refusal } | null> {
    const { teamId, tableId } = this.#event;
    return this.#turns.run(teamId, gone, () =>
      this.#queries.inSnapshot(async (snapshot) => {
        const state = await snapshot.state(teamId, tableId, null);
        if (typeof state === 'string') return null;
        const changed = changedColumns(state.schema, this.#event, state.version);
        if ('refusal' in changed) return changed;
        const kept = refusalOfKeptKey(state, state.schema, this.#event);
        if (kept !== null) return { refusal: kept };
        const { unsafe } = changed;
        const misfits = unsafe.length === 0 ? [] : await this.#findMisfits(snapshot, state, unsafe, gone);
        return { version: state.version, unsafe, misfits };
      }),
    );
  }

  async #findMisfits(
    snapshot: TableSnapshot,
    state: TableState,
    unsafe: readonly UnsafeChange[],
    gone: AbortSignal,
  ): Promise<readonly ColumnMisfits[]> {
    const { tableId } = this.#event;
    const before = this.#tried !== null && canGoOn(this.#tried, state) ? this.#tried : null;
    this.#tried = null;
    const since = before?.state.version ?? -1n;
    const last = before?.last ?? null;
    const rows = before?.rows ?? new Map<string, MisfitRow>();
    const search = new MisfitSearch(state.schema, unsafe);
    const slices = new TimeSlices();
    const add = ({ version, ordinal, index, rowId }: CopiedChange, body: string): void => {
      const misfits = search.add(rowId, body);
      if (misfits !== null && rows.size <= misfitRowsMax)
        rows.set(placeOf({ version, ordinal, index }), { version, ordinal, index, rowId, misfits });
    };
    const extents = await snapshot.extents(tableId, state.generation, since, last);
    if (before !== null)
      for await (const changes of snapshot.changes(tableId, since, state)) {
        gone.throwIfAborted();
        for (const change of changes) {
          if (isLater(change, last)) continue;
          rows.delete(placeOf(change));
          if (change.body !== null) add(change, change.body);
          if (slices.isOver) await slices.next();
        }
      }
    const parts = extents.map((extent) => ({ ...extent, from: extent.key === last?.key ? last.rows : 0 }));
    for await (const part of snapshot.rows(parts, state)) {
      gone.throwIfAborted();
      for (const row of part) {
        add(row, row.body);
        if (slices.isOver) await slices.next();
      }
    }
    if (rows.size > misfitRowsMax)
      return before === null ? search.found : this.#findMisfits(snapshot, state, unsafe, gone);
    this.#tried = { state, rows, last: extents.at(-1) ?? last };
    return sumOf(rows, unsafe);
  }
}

const placeOf = ({ version, ordinal, index }: Pick<CopiedRow, 'version' | 'ordinal' | 'index'>): string =>
  `${version} ${ordinal} ${index}`;

/** The misfits of these rows by column. */
function sumOf(rows: ReadonlyMap<string, MisfitRow>, unsafe: readonly UnsafeChange[]): readonly ColumnMisfits[] {
  const columns = new Map<string, { cells: number; first: MisfitRow; value: string }>();
  for (const row of rows.values())
    for (const { id, value } of row.misfits) {
      const column = columns.get(id);
      if (column === undefined) columns.set(id, { cells: 1, first: row, value });
      else {
        column.cells += 1;
        if (isBefore(row, column.first)) Object.assign(column, { first: row, value });
      }
    }
  return unsafe.flatMap(({ id }) => {
    const column = columns.get(id);
    return column === undefined ? [] : [{ id, cells: column.cells, rowId: column.first.rowId, value: column.value }];
  });
}

function isBefore(one: MisfitRow, two: MisfitRow): boolean {
  return (Number(one.version - two.version) || one.ordinal - two.ordinal || one.index - two.index) < 0;
}

/** Whether only changed rows must be tried. */
function canGoOn({ state: { generation, schemaVersion } }: Tried, state: TableState): boolean {
  return generation === state.generation && schemaVersion === state.schemaVersion;
}

/** Whether a change is of a row that came after the last extent was read: that row is read with its extent. */
function isLater({ version, ordinal, index }: CopiedChange, last: CopiedExtent | null): boolean {
  return last !== null && version === last.version && ordinal === last.ordinal && index >= last.rows;
}
