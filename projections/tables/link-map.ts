import type { RowAddress } from '../../src/events/event.ts';
import type { Link } from './table.ts';

/** Links by their keys, and by what their rows' IDs say of them. */
export class LinkMap {
  readonly #byKey = new Map<bigint, Link>();
  /** The versions are those of a partition: links of other teams' tables may have the same. */
  readonly #byName = new Map<string, Link>();

  get size(): number {
    return this.#byKey.size;
  }

  set(link: Link): void {
    this.#byKey.set(link.key, link);
    this.#byName.set(nameOf(link.tableId, link), link);
  }

  find(key: bigint): Link | null {
    return this.#byKey.get(key) ?? null;
  }

  /** The link of the rows that this version added to a table under this ordinal. */
  linkOf(tableId: string, row: Pick<RowAddress, 'version' | 'ordinal'>): Link | null {
    return this.#byName.get(nameOf(tableId, row)) ?? null;
  }

  all(): Iterable<Link> {
    return this.#byKey.values();
  }
}

function nameOf(tableId: string, { version, ordinal }: Pick<RowAddress, 'version' | 'ordinal'>): string {
  return `${tableId} ${version} ${ordinal}`;
}
