/**
 * Limits by the address of the client, for requests that no team pays for (docs/reference/rate-limits.md): refused
 * tokens, preflights of browsers, other requests without a token, and new connections. Counted in the memory of this
 * process.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyRequest } from 'fastify';
import { HttpError } from '../answers/http-error.ts';
import type { AddressLimitName, RequestObserver } from '../server/request-observer.ts';
import { networkOf } from './network-of.ts';
import { RefilledLimit } from './refilled-limit.ts';

/**
 * How long an answer to a client beyond its limit is held back, in milliseconds. Without the delay such a client could
 * take all the time of the process.
 */
const heldMs = 1000;
/**
 * How many preflights a client may send for each refusal it may get. A page sends a preflight for each URL, and all
 * pages behind one address share a limit. Preflights are answered without a look-up.
 */
const preflightsPerRefusal = 10;
/**
 * Maximum of answers that are held back at once, because each takes memory. Further answers are sent at once, and close
 * their connection.
 */
const heldMax = 1000;

interface LimitSettings {
  readonly RATE_LIMIT_REFUSALS: number;
  readonly RATE_LIMIT_PUBLIC: number;
  readonly RATE_LIMIT_WINDOW_MS: number;
}

/** Maximum of requests of each kind in a window, from the settings. */
const maxima: Readonly<Record<AddressLimitName, (settings: LimitSettings) => number>> = {
  refusals: ({ RATE_LIMIT_REFUSALS }) => RATE_LIMIT_REFUSALS,
  preflights: ({ RATE_LIMIT_REFUSALS }) => RATE_LIMIT_REFUSALS * preflightsPerRefusal,
  public_requests: ({ RATE_LIMIT_PUBLIC }) => RATE_LIMIT_PUBLIC,
};

export class AddressLimit {
  readonly #name: AddressLimitName;
  readonly #limit: RefilledLimit;
  readonly #observer: Pick<RequestObserver, 'rateLimited'>;

  #held = 0;

  private constructor(name: AddressLimitName, limit: RefilledLimit, observer: Pick<RequestObserver, 'rateLimited'>) {
    this.#name = name;
    this.#limit = limit;
    this.#observer = observer;
  }

  /** Null if the settings turn this limit off. */
  static of(
    name: AddressLimitName,
    settings: LimitSettings,
    observer: Pick<RequestObserver, 'rateLimited'>,
  ): AddressLimit | null {
    const max = maxima[name](settings);
    return max === 0
      ? null
      : new AddressLimit(name, new RefilledLimit(name.replace('_', ' '), max, settings.RATE_LIMIT_WINDOW_MS), observer);
  }

  /** Whether the client has used up its limit. */
  isUsedUp(request: Pick<FastifyRequest, 'ip'>): boolean {
    return this.#limit.isUsedUp(networkOf(request.ip));
  }

  /**
   * Counts a refused request. Resolves with the given error, or with `rate_limited`, after a delay, if there were too
   * many.
   */
  async refuse(request: Pick<FastifyRequest, 'ip'>, error: HttpError): Promise<HttpError> {
    return (await this.count(request)) ?? error;
  }

  /**
   * Counts a request. Returns null, or, if there were too many, a promise of `rate_limited` that resolves after a
   * delay.
   */
  count(request: Pick<FastifyRequest, 'ip'>): Promise<HttpError> | null {
    const refusal = this.#limit.take(networkOf(request.ip));
    return refusal === null ? null : this.#refuse(new HttpError('rate_limited', refusal.message, refusal.headers));
  }

  async #refuse(error: HttpError): Promise<HttpError> {
    this.#observer.rateLimited(this.#name);
    if (this.#held >= heldMax)
      return new HttpError(error.type, error.message, { ...error.headers, connection: 'close' });
    this.#held += 1;
    await sleep(heldMs);
    this.#held -= 1;
    return error;
  }
}
