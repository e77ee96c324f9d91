/**
 * One limit for each client network, refilled steadily. A flood gets all units once, and then only as many as come
 * back; no window begins with a new burst.
 */
import { largeLruCache } from '../../large-lru-cache.ts';
import type { RateLimitRefusal } from './rate-limit.ts';

/** The units that a network has left. */
interface Left {
  /** Below 0 if units were counted that could not be refused. */
  units: number;
  /** When it had these units, in milliseconds of `performance.now()`. */
  at: number;
}

/**
 * Maximum of networks that are kept: the most recently used ones. A network that was dropped has all its units again.
 */
const networksMax = 100_000;

export class RefilledLimit {
  readonly #what: string;
  readonly #max: number;
  readonly #windowMs: number;
  readonly #left = largeLruCache<string, Left>(networksMax);

  /**
   * @param what the units, in words for the message
   * @param max maximum of units at once
   * @param windowMs how long it takes until `max` units have come back, in milliseconds
   */
  constructor(what: string, max: number, windowMs: number) {
    this.#what = what;
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /** Counts a unit, or returns the refusal if none is left. */
  take(network: string): RateLimitRefusal | null {
    if (this.isUsedUp(network)) return this.#refusal(network);
    this.count(network, 1);
    return null;
  }

  /** Counts units that can no longer be refused. The debt of a network is at most `max`. */
  count(network: string, units: number): void {
    const now = performance.now();
    this.#left.set(network, {
      units: Math.max(-this.#max, Math.min(this.#max, this.#unitsAt(network, now) - units)),
      at: now,
    });
  }

  isUsedUp(network: string): boolean {
    return this.#unitsAt(network, performance.now()) < 1;
  }

  #unitsAt(network: string, now: number): number {
    const left = this.#left.get(network);
    return left === undefined
      ? this.#max
      : Math.min(this.#max, left.units + ((now - left.at) * this.#max) / this.#windowMs);
  }

  #refusal(network: string): RateLimitRefusal {
    const missing = 1 - this.#unitsAt(network, performance.now());
    // Rounded up, so that a client that waits this long has waited long enough.
    const wait = Math.max(1, Math.ceil((missing * this.#windowMs) / this.#max / 1000));
    return {
      message: `The client address is limited to ${this.#max} ${this.#what} in ${Math.ceil(this.#windowMs / 1000)} s. Try again in ${wait} s.`,
      headers: { 'retry-after': String(wait) },
    };
  }
}
