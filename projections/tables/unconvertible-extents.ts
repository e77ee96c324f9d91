/**
 * How long an extent is left alone after its conversion failed, in milliseconds. Each failure is reported, so damage is
 * reported each hour.
 */
const leftAloneMs = 3_600_000;

/** How many are remembered. Beyond that, the oldest is tried again early. */
const rememberedMax = 10_000;

/**
 * Extents that could not be converted, because a body of theirs cannot be read. They are left alone for a while, so
 * that others are converted.
 */
export class UnconvertibleExtents {
  /** By key, the oldest first: when it is tried again, by `performance.now()`. */
  readonly #until = new Map<string, number>();

  add(key: string): void {
    this.#until.delete(key);
    this.#until.set(key, performance.now() + leftAloneMs);
    if (this.#until.size > rememberedMax) this.#until.delete(this.#until.keys().next().value!);
  }

  /** The keys of those that are left alone now. */
  keys(): readonly string[] {
    const now = performance.now();
    for (const [key, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(key);
    }
    return [...this.#until.keys()];
  }
}
