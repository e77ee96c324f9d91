/**
 * Tries whether the rows of a table fit other types of their columns: before a large table is changed, and for a dry
 * run (docs/decisions/0077). A trial reads a snapshot, so nobody waits for it, and yields the thread every few
 * milliseconds.
 */
import type { CopyQueries } from '../../../../projections/tables/copies.queries.ts';
import { changedColumns, refusalOfKeptKey } from '../../../../projections/tables/decide-patch-table.ts';
import type { TableSnapshot, TableState } from '../../../../projections/tables/table-snapshot.ts';
import type { EventOf } from '../../../language/events/event.ts';
import { TimeSlices } from '../../../language/time-slices.ts';
import type { UnsafeChange } from '../../../language/values/change-columns.ts';
import { MisfitSearch, type ColumnMisfits } from '../../../language/values/column-misfits.ts';
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

  /**
   * Tries all rows of the event's table. Resolves with the refusal if the columns cannot be changed like this, and with
   * null if the team has no such table or may not use it. Rejects with the reason of the signal if the client has gone.
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
        const kept = refusalOfKeptKey(state, state.schema, event);
        if (kept !== null) return { refusal: kept };
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
