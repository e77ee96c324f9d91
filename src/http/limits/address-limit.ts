/**
 * Limits, by the address of the client, the requests that no team answers for: without a valid token, or to a URL that this service did not
 * sign; and the preflights of browsers (docs/rate-limits.md). Counted in the memory of this process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../../app/config.ts';
import { HttpError } from '../answers/http-error.ts';
import type { AddressLimitName, RequestObserver } from '../server/request-observer.ts';
import { networkOf } from './network-of.ts';
import { RateLimit } from './rate-limit.ts';

/** How long the answer to a client that has used up its refusals is held back, in milliseconds: else it takes all the time that the process has. */
const heldMs = 1000;
/** A page sends a preflight for each URL, and all pages behind one address share a limit; they are answered without a look-up. */
const preflightsPerRefusal = 10;
/** How many answers are held back at once. A request takes some memory; beyond, answers are given at once. */
const heldMax = 1000;

export class AddressLimit {
  readonly #limit: RateLimit;
  readonly #observer: Pick<RequestObserver, 'rateLimited'>;

  #held = 0;

  private constructor(limit: RateLimit, observer: Pick<RequestObserver, 'rateLimited'>) {
    this.#limit = limit;
    this.#observer = observer;
  }

  /** Null if the settings turn it off. */
  static of(
    name: AddressLimitName,
    { RATE_LIMIT_REFUSALS: refusalsMax, RATE_LIMIT_WINDOW_MS: windowMs }: Pick<Config, 'RATE_LIMIT_REFUSALS' | 'RATE_LIMIT_WINDOW_MS'>,
    observer: Pick<RequestObserver, 'rateLimited'>,
  ): AddressLimit | null {
    if (refusalsMax === 0) return null;
    const max = name === 'refusals' ? refusalsMax : refusalsMax * preflightsPerRefusal;
    return new AddressLimit(new RateLimit(name, max, windowMs, 'client address'), observer);
  }

  /** Whether the client has used up its refusals. */
  isUsedUp(request: Pick<FastifyRequest, 'ip'>): boolean {
    return this.#limit.left(networkOf(request.ip)).units === 0;
  }

  /** Counts a refused request. Resolves to the error for it: the given one, or, a moment later, `rate_limited` if there were too many. */
  async refuse(request: Pick<FastifyRequest, 'ip'>, error: HttpError): Promise<HttpError> {
    return (await this.count(request)) ?? error;
  }

  /** Counts a request. Resolves to null, or, a moment later, to `rate_limited` if there were too many. */
  async count(request: Pick<FastifyRequest, 'ip'>): Promise<HttpError | null> {
    const refusal = this.#limit.take(networkOf(request.ip), 1);
    if (refusal === null) return null;
    this.#observer.rateLimited(this.#limit.name);
    if (this.#held < heldMax) {
      this.#held += 1;
      await sleep(heldMs);
      this.#held -= 1;
    }
    return new HttpError('rate_limited', refusal.message, refusal.headers);
  }
}
