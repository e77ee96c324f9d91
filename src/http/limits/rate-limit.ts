/** One limit: how much a team has asked for in a window of time, and how much of it is left (docs/rate-limits.md). */
import { LRUCache } from 'lru-cache';
import type { LimitName } from '../server/request-observer.ts';

/** A window of a team. */
interface Window {
  /** How many units were counted in it. */
  readonly used: number;
  /** When it ends, in milliseconds of `performance.now()`. */
  readonly endsAt: number;
}

export interface Refusal {
  readonly message: string;
  readonly headers: { readonly 'retry-after': string };
}

/** Of so many teams the windows are kept: those that were looked at last. */
const teamsMax = 100_000;

/** A limit of each team: so many units (requests or rows) in a window, which begins with the first that is counted. */
export class RateLimit {
  /** The fields call the policy so. */
  readonly name: LimitName;
  readonly #max: number;
  readonly #windowMs: number;
  readonly #windows = new LRUCache<string, Window>({ max: teamsMax });

  /** @param max the most units in a window */
  constructor(name: LimitName, max: number, windowMs: number) {
    this.name = name;
    this.#max = max;
    this.#windowMs = windowMs;
  }

  /**
   * Counts units before they are used. Where fewer are left it counts none, and says why; but a window in which nothing was
   * counted yet takes any number, so that nothing is too large for ever.
   */
  take(teamId: string, units: number): Refusal | null {
    const { used } = this.#windowOf(teamId);
    if (units > 0 && used > 0 && used + units > this.#max) return this.#refusal(teamId);
    this.count(teamId, units);
    return null;
  }

  /** Counts units that it is too late to refuse. What goes beyond the limit keeps the window open for as long as the limit takes for it. */
  count(teamId: string, units: number): void {
    if (units === 0) return;
    const { used, endsAt } = this.#windowOf(teamId);
    const total = used + units;
    const beyond = Math.max(total, this.#max) - Math.max(used, this.#max);
    this.#windows.set(teamId, { used: total, endsAt: endsAt + (beyond / this.#max) * this.#windowMs });
  }

  /** How many units are left to the team, and for how many seconds more. */
  left(teamId: string): { readonly units: number; readonly seconds: number } {
    const { used, endsAt } = this.#windowOf(teamId);
    return { units: Math.max(0, this.#max - used), seconds: toSeconds(endsAt - performance.now()) };
  }

  /** The limit as `RateLimit-Policy` has it: units, and seconds of the window. */
  get policy(): { readonly max: number; readonly seconds: number } {
    return { max: this.#max, seconds: toSeconds(this.#windowMs) };
  }

  /** The window that is open, or one that would begin now. */
  #windowOf(teamId: string): Window {
    const now = performance.now();
    const open = this.#windows.get(teamId);
    return open !== undefined && open.endsAt > now ? open : { used: 0, endsAt: now + this.#windowMs };
  }

  #refusal(teamId: string): Refusal {
    const { max, seconds } = this.policy;
    const { units, seconds: wait } = this.left(teamId);
    return {
      message: `The limit of the team is ${max} ${this.name} in ${seconds} s. For the next ${wait} s ${units} of them are left.`,
      headers: { 'retry-after': String(wait) },
    };
  }
}

/** The fields know whole seconds only. Up, so that whoever waits so long has waited long enough. */
function toSeconds(ms: number): number {
  return Math.max(0, Math.ceil(ms / 1000));
}
