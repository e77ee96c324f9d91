/** One limit: how much a team has asked for in a window of time, and how much of it is left (docs/rate-limits.md). */
import { RateLimiterMemory } from 'rate-limiter-flexible';
import type { LimitName } from './request-observer.ts';

/** How far a team has used up a limit. */
interface Standing {
  /** How many units were counted in the window that is open; 0 if none is. */
  readonly used: number;
  /** When that window ends, in milliseconds from now; without one, how long one that began now would be open. */
  readonly endsInMs: number;
}

export interface Refusal {
  readonly message: string;
  readonly headers: { readonly 'retry-after': string };
}

/** A timer cannot be set for longer (2^31 milliseconds): what was written beyond a limit is forgotten after so long. */
const windowMsMax = 24 * 86_400_000;

/** A limit of each team: so many units (requests or rows) in a window, which begins with the first that is counted. */
export class RateLimit {
  /** The fields call the policy so. */
  readonly name: LimitName;
  readonly #max: number;
  readonly #windowMs: number;
  /** Forgets a team with its window: of those that asked for nothing meanwhile nothing is kept. */
  readonly #counter: RateLimiterMemory;
  #last: Promise<unknown> = Promise.resolve();

  /** @param max the most units in a window */
  constructor(name: LimitName, max: number, windowMs: number) {
    this.name = name;
    this.#max = max;
    this.#windowMs = windowMs;
    this.#counter = new RateLimiterMemory({ points: max, duration: windowMs / 1000, keyPrefix: '' });
  }

  /**
   * Counts units before they are used. Where fewer are left it counts none, and says why; but a window in which nothing was
   * counted yet takes any number, so that nothing is too large for ever.
   */
  take(teamId: string, units: number): Promise<Refusal | null> {
    return this.#alone(async () => {
      const standing = await this.#standingOf(teamId);
      if (units > 0 && standing.used > 0 && standing.used + units > this.#max) return this.#refusal(standing);
      await this.#add(teamId, standing, units);
      return null;
    });
  }

  /** Counts units that it is too late to refuse. */
  count(teamId: string, units: number): Promise<void> {
    return this.#alone(async () => this.#add(teamId, await this.#standingOf(teamId), units));
  }

  /** How many units are left to the team, and for how many seconds more. */
  async left(teamId: string): Promise<{ readonly units: number; readonly seconds: number }> {
    const { used, endsInMs } = await this.#standingOf(teamId);
    return { units: Math.max(0, this.#max - used), seconds: toSeconds(endsInMs) };
  }

  /** The limit as `RateLimit-Policy` has it: units, and seconds of the window. */
  get policy(): { readonly max: number; readonly seconds: number } {
    return { max: this.#max, seconds: toSeconds(this.#windowMs) };
  }

  /** The counter answers in promises; nobody counts between a look at it and what follows from that. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done;
    return done;
  }

  async #standingOf(teamId: string): Promise<Standing> {
    const found = await this.#counter.get(teamId);
    // What forgets a window may be a moment late.
    if (found === null || found.msBeforeNext <= 0) return { used: 0, endsInMs: this.#windowMs };
    return { used: found.consumedPoints, endsInMs: found.msBeforeNext };
  }

  /** What goes beyond the limit keeps the window open for as long as the limit takes for it. */
  async #add(teamId: string, { used, endsInMs }: Standing, units: number): Promise<void> {
    if (units === 0) return;
    const total = used + units;
    const beyond = Math.max(total, this.#max) - Math.max(used, this.#max);
    if (beyond === 0) {
      await this.#counter.penalty(teamId, units);
      return;
    }
    const openMs = endsInMs + (beyond / this.#max) * this.#windowMs;
    await this.#counter.set(teamId, total, Math.min(openMs, windowMsMax) / 1000);
  }

  #refusal({ used, endsInMs }: Standing): Refusal {
    const { max, seconds } = this.policy;
    const left = Math.max(0, max - used);
    const wait = toSeconds(endsInMs);
    return {
      message: `The limit of the team is ${max} ${this.name} in ${seconds} s. For the next ${wait} s ${left} of them are left.`,
      headers: { 'retry-after': String(wait) },
    };
  }
}

/** The fields know whole seconds only. Up, so that whoever waits so long has waited long enough. */
function toSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
