/**
 * How much a team may ask for in a window of time: requests, and rows that it writes (docs/rate-limits.md). Counted in the
 * memory of this process. Every answer says what is left, in the fields `RateLimit-Policy` and `RateLimit` of
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
import type { FastifyRequest } from 'fastify';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { serializeList, type Item } from 'structured-headers';
import type { Config } from '../config.ts';
import type { App } from './app.ts';
import { replyWithError } from './error-reply.ts';
import { HttpError } from './http-error.ts';
import type { LimitName, RequestObserver } from './request-observer.ts';

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

/** The limits that there are, and what they mean for requests. */
export class RateLimits {
  readonly #requests: RateLimit | null;
  readonly #rows: RateLimit | null;
  readonly #observer: Pick<RequestObserver, 'rateLimited'>;

  private constructor(requests: RateLimit | null, rows: RateLimit | null, observer: Pick<RequestObserver, 'rateLimited'>) {
    this.#requests = requests;
    this.#rows = rows;
    this.#observer = observer;
  }

  /** Null where the settings limit nothing. */
  static of(
    config: Pick<Config, 'RATE_LIMIT_REQUESTS' | 'RATE_LIMIT_ROWS' | 'RATE_LIMIT_WINDOW_MS'>,
    observer: Pick<RequestObserver, 'rateLimited'>,
  ): RateLimits | null {
    const limit = (name: LimitName, max: number | undefined): RateLimit | null => {
      return max === undefined ? null : new RateLimit(name, max, config.RATE_LIMIT_WINDOW_MS);
    };
    const requests = limit('requests', config.RATE_LIMIT_REQUESTS);
    const rows = limit('rows', config.RATE_LIMIT_ROWS);
    return requests === null && rows === null ? null : new RateLimits(requests, rows, observer);
  }

  /** Has each request that a token was found for counted, before anything of it is read, and its answer say what is left. */
  addTo(app: App): void {
    const requests = this.#requests;
    if (requests !== null) {
      app.addHook('preParsing', (request, reply, _payload, done) => {
        const teamId = teamOf(request);
        if (teamId === undefined) {
          done();
          return;
        }
        requests.take(teamId, 1).then((refusal) => {
          if (refusal === null) {
            done();
            return;
          }
          this.#observer.rateLimited('requests');
          replyWithError(reply, 'rate_limited', refusal.message, refusal.headers);
        }, done);
      });
    }
    const limits = [requests, this.#rows].filter((limit) => limit !== null);
    const policies = formatPolicies(limits);
    app.addHook('onSend', async (request, reply, payload) => {
      const teamId = teamOf(request);
      if (teamId !== undefined) {
        void reply.headers({ 'ratelimit-policy': policies, 'ratelimit': await formatStandings(limits, teamId) });
      }
      return payload;
    });
  }

  /** Counts rows that are about to be put into the log. Throws HttpError `rate_limited` where fewer are left. */
  async takeRows(teamId: string, rows: number): Promise<void> {
    const refusal = await this.#rows?.take(teamId, rows) ?? null;
    if (refusal === null) return;
    this.#observer.rateLimited('rows');
    throw new HttpError('rate_limited', refusal.message, refusal.headers);
  }

  /** Counts rows of a body of which others are in the log already. */
  async countRows(teamId: string, rows: number): Promise<void> {
    await this.#rows?.count(teamId, rows);
  }
}

/** Without a token that is known there is no team: public routes, paths where nothing is, and refused tokens. */
function teamOf(request: FastifyRequest): string | undefined {
  return (request as Partial<Pick<FastifyRequest, 'principal'>>).principal?.teamId;
}

/** `"requests";q=100;w=60, "rows";q=5000;qu="rows";w=60` */
function formatPolicies(limits: readonly RateLimit[]): string {
  return serializeList(limits.map(({ name, policy: { max, seconds } }) => {
    // Requests are the unit where none is named.
    const unit = name === 'requests' ? [] : [['qu', name] as const];
    return [name, new Map<string, number | string>([['q', max], ...unit, ['w', seconds]])];
  }));
}

/** `"requests";r=50;t=30, "rows";r=5000;t=60` */
async function formatStandings(limits: readonly RateLimit[], teamId: string): Promise<string> {
  return serializeList(await Promise.all(limits.map(async (limit): Promise<Item> => {
    const { units, seconds } = await limit.left(teamId);
    return [limit.name, new Map([['r', units], ['t', seconds]])];
  })));
}

/** The fields know whole seconds only. Up, so that whoever waits so long has waited long enough. */
function toSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
