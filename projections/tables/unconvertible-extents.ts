/**
 * How long an extent is left alone after its conversion failed, in milliseconds. Each failure is reported, so damage is
 * reported every hour.
 */
const leftAloneMs = 3_600_000;

/** How many extents are remembered. Beyond that, the oldest one is tried again early. */
const rememberedMax = 10_000;

/**
 * Extents whose conversion failed because one of their bodies cannot be read. They are left alone for a while, so that
 * other extents are converted.
 */
export class UnconvertibleExtents {
  /** By key, the oldest first: when the extent is tried again, by `performance.now()`. */
  readonly #until = new Map<string, number>();

  add(key: string): void {
    this.#until.delete(key);
    this.#until.set(key, performance.now() + leftAloneMs);
    if (this.#until.size > rememberedMax) this.#until.delete(this.#until.keys().next().value!);
  }

  /** The keys of the extents that are now left alone. */
  keys(): readonly string[] {
    const now = performance.now();
    for (const [key, until] of this.#until) {
      if (until > now) break;
      this.#until.delete(key);
    }
    return [...this.#until.keys()];
  }
}
