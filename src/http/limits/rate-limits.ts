/**
 * Rate limits per team and time window: of requests, and of rows written (docs/rate-limits.md). Counted in the memory of this
 * process. Every answer says what is left, in the fields `RateLimit-Policy` and `RateLimit` of
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
import type { FastifyRequest } from 'fastify';
import { serializeList, type Item } from 'structured-headers';
import type { Config } from '../../app/config.ts';
import type { App } from '../server/app-type.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import { RateLimit } from './rate-limit.ts';
import type { LimitName, RequestObserver } from '../server/request-observer.ts';

/** The configured limits, applied to requests. */
export class RateLimits {
  readonly #requests: RateLimit | null;
  readonly #rows: RateLimit | null;
  readonly #observer: Pick<RequestObserver, 'rateLimited'>;

  private constructor(requests: RateLimit | null, rows: RateLimit | null, observer: Pick<RequestObserver, 'rateLimited'>) {
    this.#requests = requests;
    this.#rows = rows;
    this.#observer = observer;
  }

  /** Null if the settings have no limit. */
  static of(
    config: Pick<Config, 'RATE_LIMIT_REQUESTS' | 'RATE_LIMIT_ROWS' | 'RATE_LIMIT_WINDOW_MS'>,
    observer: Pick<RequestObserver, 'rateLimited'>,
  ): RateLimits | null {
    const { RATE_LIMIT_REQUESTS: requestsMax, RATE_LIMIT_ROWS: rowsMax, RATE_LIMIT_WINDOW_MS: windowMs } = config;
    if (requestsMax === undefined && rowsMax === undefined) return null;
    const limit = (name: LimitName, max: number | undefined): RateLimit | null => {
      return max === undefined ? null : new RateLimit(name, max, windowMs);
    };
    return new RateLimits(limit('requests', requestsMax), limit('rows', rowsMax), observer);
  }

  /** Counts every authenticated request before its body is read, and adds the rate limit headers to its answer. */
  addTo(app: App): void {
    const requests = this.#requests;
    if (requests !== null) {
      app.addHook('preParsing', (request, reply, _payload, done) => {
        const teamId = teamOf(request);
        const refusal = teamId === undefined ? null : requests.take(teamId, 1);
        if (refusal === null) {
          done();
          return;
        }
        this.#observer.rateLimited('requests');
        replyWithError(reply, 'rate_limited', refusal.message, refusal.headers);
      });
    }
    const limits = [requests, this.#rows].filter((limit) => limit !== null);
    const policies = formatPolicies(limits);
    app.addHook('onSend', (request, reply, payload, done) => {
      const teamId = teamOf(request);
      if (teamId !== undefined) {
        void reply.headers({ 'ratelimit-policy': policies, 'ratelimit': formatStandings(limits, teamId) });
      }
      done(null, payload);
    });
  }

  /** Counts rows that are about to be appended to the log. Throws HttpError `rate_limited` if fewer are left. */
  takeRows(teamId: string, rows: number): void {
    const refusal = this.#rows?.take(teamId, rows) ?? null;
    if (refusal === null) return;
    this.#observer.rateLimited('rows');
    throw new HttpError('rate_limited', refusal.message, refusal.headers);
  }

  /** Counts further rows of a body of which some are in the log already. */
  countRows(teamId: string, rows: number): void {
    this.#rows?.count(teamId, rows);
  }
}

/** There is no team without a valid token: on public routes, unknown paths, and for refused tokens. */
function teamOf(request: FastifyRequest): string | undefined {
  return (request as Partial<Pick<FastifyRequest, 'principal'>>).principal?.teamId;
}

/** `"requests";q=100;w=60, "rows";q=5000;qu="rows";w=60` */
function formatPolicies(limits: readonly RateLimit[]): string {
  return serializeList(limits.map(({ name, policy: { max, seconds } }) => {
    // Requests are the default unit.
    const unit = name === 'requests' ? [] : [['qu', name] as const];
    return [name, new Map<string, number | string>([['q', max], ...unit, ['w', seconds]])];
  }));
}

/** `"requests";r=50;t=30, "rows";r=5000;t=60` */
function formatStandings(limits: readonly RateLimit[], teamId: string): string {
  return serializeList(limits.map((limit): Item => {
    const { units, seconds } = limit.left(teamId);
    return [limit.name, new Map([['r', units], ['t', seconds]])];
  }));
}
