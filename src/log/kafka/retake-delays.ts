/** How long to wait before a lost partition that is still assigned to this process is taken back. */

/**
 * In milliseconds. The delay grows while the partition is soon lost again, because another process may keep taking it.
 * If a process has fenced the partition off only to prove the log (`isFenced`), it is taken back at once, however
 * often: many processes do so when they start together.
 */
const delays = [0, 50, 100, 200, 500, 1000, 2000, 5000] as const;
/** If a partition was kept for this long, in milliseconds, it was not lost soon. */
const keptMin = 5000;

export class RetakeDelays {
  /** How many times in succession a partition was soon lost. */
  readonly #lostSoon = new Map<number, number>();

  /**
   * Records that a partition was lost after this many milliseconds. Returns how long to wait before it is taken back,
   * in milliseconds.
   */
  next(partition: number, kept: number): number {
    const times = kept > keptMin ? 0 : (this.#lostSoon.get(partition) ?? 0) + 1;
    this.#lostSoon.set(partition, times);
    return delays[Math.min(times, delays.length - 1)]!;
  }
}
