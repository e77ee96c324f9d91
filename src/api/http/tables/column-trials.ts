/**
 * Tries the rows of tables under other types of their columns: before a change of large tables, and for those who only
 * want to know (docs/decisions/0077). It reads a snapshot, so nobody waits, and it gives way every few milliseconds.
 */
import type { CopyQueries } from '../../../../projections/tables/copies.queries.ts';
import { changedColumns } from '../../../../projections/tables/decide-patch-table.ts';
import type { TableSnapshot, TableState } from '../../../../projections/tables/table-snapshot.ts';
import type { EventOf } from '../../../language/events/event.ts';
import { TimeSlices } from '../../../language/time-slices.ts';
import type { UnsafeChange } from '../../../language/values/change-columns.ts';
import { MisfitSearch, type ColumnMisfits } from '../../../language/values/column-misfits.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { FillTurns } from '../../query/engine/fill-turns.ts';

/** So many tables are tried at once: each takes a connection to Postgres, and the thread. */
const trialsAtOnce = 2;

/** What became of a trial. */
export interface Trial {
  /** Of the table whose rows were tried. */
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

  /**
   * Tries all rows of the table of an event. Resolves to the refusal if the columns cannot be changed so, and to null
   * if the team has no such table, or may not use it. Rejects as the signal says if nobody waits any more.
   */
  async try(
    event: EventOf<'TablePatchRequested'>,
    gone: AbortSignal,
  ): Promise<Trial | { readonly refusal: Refusal } | null> {
    return this.#turns.run(event.teamId, gone, () =>
      this.#queries.inSnapshot(async (snapshot) => {
        const state = await snapshot.state(event.teamId, event.tableId, null);
        if (typeof state === 'string') return null;
        const changed = changedColumns(state.schema, event, state.version);
        if ('refusal' in changed) return changed;
        const { unsafe } = changed;
        const misfits = unsafe.length === 0 ? [] : await findMisfits(snapshot, event.tableId, state, unsafe, gone);
        return { version: state.version, unsafe, misfits };
      }),
    );
  }
}

async function findMisfits(
  snapshot: TableSnapshot,
  tableId: string,
  state: TableState,
  unsafe: readonly UnsafeChange[],
  gone: AbortSignal,
): Promise<readonly ColumnMisfits[]> {
  const search = new MisfitSearch(state.schema, unsafe);
  const slices = new TimeSlices();
  const extents = await snapshot.extents(tableId, state.generation, -1n, null);
  const whole = extents.map((extent) => ({ ...extent, from: 0 }));
  for await (const rows of snapshot.rows(whole, state)) {
    gone.throwIfAborted();
    for (const { rowId, body } of rows) {
      search.add(rowId, body);
      if (slices.isOver) await slices.next();
    }
  }
  return search.found;
}
