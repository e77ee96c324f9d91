/** A map whose keys are pairs. A text made of both would cost more than all else that is done with the entry. */
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

  /** The values with this first key. */
  valuesOf(first: A): V[] {
    return [...(this.#entries.get(first)?.values() ?? [])];
  }

  /** All values; those with the same first key stand together. */
  values(): V[] {
    return [...this.#entries.values()].flatMap((entries) => [...entries.values()]);
  }
}
