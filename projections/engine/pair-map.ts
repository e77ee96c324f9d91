/** A map with pairs as keys. Joining both into a string key would cost more than the rest of the work on an entry. */
export class PairMap<A, B, V> {
  readonly #entries = new Map<A, Map<B, V>>();

  get(first: A, second: B): V | undefined {
    return this.#entries.get(first)?.get(second);
  }

  set(first: A, second: B, value: V): void {
    const entries = this.#entries.get(first);
    if (entries) entries.set(second, value);
    else this.#entries.set(first, new Map([[second, value]]));
  }

  /** Returns whether there was an entry. */
  delete(first: A, second: B): boolean {
    return this.#entries.get(first)?.delete(second) ?? false;
  }

  /** The values with this first key. */
  valuesOf(first: A): V[] {
    return [...(this.#entries.get(first)?.values() ?? [])];
  }

  /** All values; those with the same first key stand together. */
  values(): V[] {
    return [...this.#entries.values()].flatMap((entries) => [...entries.values()]);
  }
}
