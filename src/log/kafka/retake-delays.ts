/** When a partition is taken back that was lost although it is still assigned to this process. */

/**
 * In milliseconds. It grows while the partition is lost again soon, because another process may keep taking it. What a
 * process fences off only to prove the log (`isFenced`) is taken back at once, however often: many processes do so when
 * they start together.
 */
const delays = [0, 50, 100, 200, 500, 1000, 2000, 5000] as const;
/** A partition that was kept for this long was not lost soon. In milliseconds. */
const keptMin = 5000;

export class RetakeDelays {
  /** How often in succession a partition was lost soon. */
  readonly #lostSoon = new Map<number, number>();

  /**
   * A partition was lost after so many milliseconds. Returns how long to wait before it is taken back, in milliseconds.
   */
  next(partition: number, kept: number): number {
    const times = kept > keptMin ? 0 : (this.#lostSoon.get(partition) ?? 0) + 1;
    this.#lostSoon.set(partition, times);
    return delays[Math.min(times, delays.length - 1)]!;
  }
}
