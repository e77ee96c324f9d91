/** One rate limit: counts the units that each team uses in a time window (docs/reference/rate-limits.md). */
import { largeLruCache } from '../../large-lru-cache.ts';
import type { LimitName } from '../server/request-observer.ts';

/** The current window of a team. */
interface Window {
  /** How many units were used in it. */
  readonly used: number;
  /** When it ends, in milliseconds of `performance.now()`. */
  readonly endsAt: number;
}

export interface RateLimitRefusal {
  readonly message: string;
  readonly headers: { readonly 'retry-after': string };
}

/** Maximum of teams whose windows are kept: the most recently used ones. */
const teamsMax = 100_000;

/** A limit for each team: units in a window that begins with the first use. */
export class RateLimit {
  /** The name of the policy in the `RateLimit` fields. */
  readonly name: LimitName;
  readonly #max: number;
  readonly #windowMs: number;
  readonly #windows = largeLruCache<string, Window>(teamsMax);

  /** @param max maximum of units in a window */
  constructor(name: LimitName, max: number, windowMs: number) {
    this.name = name;
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /**
   * Counts units before they are used. If fewer are left, counts none and returns the refusal. But an unused window
   * takes any number, so that no request is too large for ever.
   */
  take(teamId: string, units: number): RateLimitRefusal | null {
    const { used } = this.#windowOf(teamId);
    if (units > 0 && used > 0 && used + units > this.#max) return this.#refusal(teamId);
    this.count(teamId, units);
    return null;
  }

  /** Counts units that can no longer be refused. Units over the limit extend the window in proportion. */
  count(teamId: string, units: number): void {
    if (units === 0) return;
    const { used, endsAt } = this.#windowOf(teamId);
    const total = used + units;
    const beyond = Math.max(total, this.#max) - Math.max(used, this.#max);
    this.#windows.set(teamId, { used: total, endsAt: endsAt + (beyond / this.#max) * this.#windowMs });
  }

  /** How many units the team has left, and for how many more seconds. */
  left(teamId: string): { readonly units: number; readonly seconds: number } {
    const { used, endsAt } = this.#windowOf(teamId);
    return { units: Math.max(0, this.#max - used), seconds: toSeconds(endsAt - performance.now()) };
  }

  /** The limit as in `RateLimit-Policy`: units, and the window in seconds. */
  get policy(): { readonly max: number; readonly seconds: number } {
    return { max: this.#max, seconds: toSeconds(this.#windowMs) };
  }

  /** The current window, or one that would begin now. */
  #windowOf(teamId: string): Window {
    const now = performance.now();
    const open = this.#windows.get(teamId);
    return open !== undefined && open.endsAt > now ? open : { used: 0, endsAt: now + this.#windowMs };
  }

  #refusal(teamId: string): RateLimitRefusal {
    const { max, seconds } = this.policy;
    const { units, seconds: wait } = this.left(teamId);
    return {
      message: `The team is limited to ${max} ${this.name} in ${seconds} s. It has ${units} left for the next ${wait} s.`,
      headers: { 'retry-after': String(wait) },
    };
  }
}

/** The fields have whole seconds only. Rounded up, so that a client that waits this long has waited long enough. */
function toSeconds(ms: number): number {
  return Math.max(0, Math.ceil(ms / 1000));
}
