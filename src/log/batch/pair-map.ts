import { UndoMap, type UndoJournal } from './undo-journal.ts';

/** A map with pairs as keys. Joining both parts into a string key would cost more than all other work on an entry. */
export class PairMap<A, B, V> {
  readonly #journal: UndoJournal | null;
  readonly #entries = new Map<A, Map<B, V>>();
  /** The first key that was used last, and its entries. It is often used again, and looking up a bigint takes long. */
  #cachedKey: A | undefined;
  #cachedEntries: Map<B, V> | undefined;

  /** `journal`: records how to undo changes; null: changes are final. */
  constructor(journal: UndoJournal | null) {
    this.#journal = journal;
  }

  get(first: A, second: B): V | undefined {
    return this.#entriesOf(first)?.get(second);
  }

  set(first: A, second: B, value: V): void {
    let entries = this.#entriesOf(first);
    if (entries === undefined) {
      entries = this.#journal === null ? new Map() : new UndoMap(this.#journal);
      this.#entries.set(first, entries);
      this.#cachedEntries = entries;
    }
    entries.set(second, value);
  }

  /** Returns whether there was an entry. */
  delete(first: A, second: B): boolean {
    return this.#entriesOf(first)?.delete(second) ?? false;
  }

  /** The values with this first key. */
  valuesOf(first: A): V[] {
    return [...(this.#entriesOf(first)?.values() ?? [])];
  }

  /** All values. Those with the same first key are adjacent. */
  values(): V[] {
    const values: V[] = [];
    for (const entries of this.#entries.values()) for (const value of entries.values()) values.push(value);
    return values;
  }

  /** The entries with this first key. */
  #entriesOf(first: A): Map<B, V> | undefined {
    if (this.#cachedKey === first) return this.#cachedEntries;
    this.#cachedKey = first;
    this.#cachedEntries = this.#entries.get(first);
    return this.#cachedEntries;
  }
}
