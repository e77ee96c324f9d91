import type { RowAddress } from '../../src/events/event.ts';
import type { Extent } from './table.ts';

/** Extents by key, and by table, version and ordinal, which row IDs name. */
export class ExtentMap {
  readonly #byKey = new Map<bigint, Extent>();
  /** The table is part of the key, because partitions may issue the same versions. */
  readonly #byName = new Map<string, Extent>();

  get size(): number {
    return this.#byKey.size;
  }

  set(extent: Extent): void {
    if (this.#byKey.get(extent.key) === extent) return;
    this.#byKey.set(extent.key, extent);
    this.#byName.set(nameOf(extent.tableId, extent), extent);
  }

  find(key: bigint): Extent | null {
    return this.#byKey.get(key) ?? null;
  }

  /** The extent that the event of this version added to a table under this ordinal. */
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
