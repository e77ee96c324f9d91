import type { RowAddress } from '../../src/events/event.ts';
import type { Extent } from './table.ts';

/** Extents by their keys, and by what their rows' IDs say of them. */
export class ExtentMap {
  readonly #byKey = new Map<bigint, Extent>();
  /** The versions are those of a partition: extents of other teams' tables may have the same. */
  readonly #byName = new Map<string, Extent>();

  get size(): number {
    return this.#byKey.size;
  }

  set(extent: Extent): void {
    this.#byKey.set(extent.key, extent);
    this.#byName.set(nameOf(extent.tableId, extent), extent);
  }

  find(key: bigint): Extent | null {
    return this.#byKey.get(key) ?? null;
  }

  /** The extent of the rows that this version added to a table under this ordinal. */
  extentOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Extent | null {
    return this.#byName.get(nameOf(tableId, row)) ?? null;
  }

  all(): Iterable<Extent> {
    return this.#byKey.values();
  }
}

function nameOf(tableId: string, { version, ordinal }: Pick<RowAddress, 'version' | 'ordinal'>): string {
  return `${tableId} ${version} ${ordinal}`;
}
