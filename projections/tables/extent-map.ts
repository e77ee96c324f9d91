import type { RowAddress } from '../../src/language/events/row-id.ts';
import { PairMap } from '../../src/log/batch/pair-map.ts';
import { UndoMap, type UndoJournal } from '../../src/log/batch/undo-journal.ts';
import type { Extent } from './table.ts';

/** Extents by key, and by the table, version and ordinal that row IDs name. */
export class ExtentMap {
  readonly #journal: UndoJournal | null;
  readonly #byKey: Map<bigint, Extent>;
  /**
   * By table, version and ordinal. The table is needed because partitions may issue the same versions. The maps are
   * nested because a joined key would have to be built for each look-up.
   */
  readonly #byName = new Map<string, PairMap<bigint, number, Extent>>();

  /** `journal`: records how to undo changes; null: changes are final. */
  constructor(journal: UndoJournal | null) {
    this.#journal = journal;
    this.#byKey = journal === null ? new Map<bigint, Extent>() : new UndoMap<bigint, Extent>(journal);
  }

  get size(): number {
    return this.#byKey.size;
  }

  set(extent: Extent): void {
    const { key, tableId, version, ordinal } = extent;
    if (this.#byKey.get(key) === extent) return;
    this.#byKey.set(key, extent);
    const ofTable = this.#byName.get(tableId) ?? new PairMap<bigint, number, Extent>(this.#journal);
    this.#byName.set(tableId, ofTable);
    ofTable.set(version, ordinal, extent);
  }

  find(key: bigint): Extent | null {
    return this.#byKey.get(key) ?? null;
  }

  /** The extent that the event of this version added to a table under this ordinal. */
  extentOf(tableId: string, { version, ordinal }: Pick<RowAddress, 'version' | 'ordinal'>): Extent | null {
    return this.#byName.get(tableId)?.get(version, ordinal) ?? null;
  }

  /** How many extents the event of this version added to a table. */
  countOf(tableId: string, version: bigint): number {
    return this.#byName.get(tableId)?.valuesOf(version).length ?? 0;
  }

  all(): Iterable<Extent> {
    return this.#byKey.values();
  }
}
