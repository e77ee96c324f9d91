/**
 * How much a team may ask for in a window of time: requests, and rows that it writes (docs/rate-limits.md). Counted in the
 * memory of this process. Every answer says what is left, in the fields `RateLimit-Policy` and `RateLimit` of
 * draft-ietf-httpapi-ratelimit-headers-10.
 */
import type { FastifyRequest } from 'fastify';
import { serializeList, type Item } from 'structured-headers';
import type { Config } from '../config.ts';
import type { App } from './app.ts';
import { replyWithError } from './error-reply.ts';
import { HttpError } from './http-error.ts';
import type { RateLimit } from './rate-limit.ts';
import type { LimitName, RequestObserver } from './request-observer.ts';

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

  /** Null where the settings limit nothing: what counts is not even loaded then. */
  static async of(
    config: Pick<Config, 'RATE_LIMIT_REQUESTS' | 'RATE_LIMIT_ROWS' | 'RATE_LIMIT_WINDOW_MS'>,
    observer: Pick<RequestObserver, 'rateLimited'>,
  ): Promise<RateLimits | null> {
    const { RATE_LIMIT_REQUESTS: requestsMax, RATE_LIMIT_ROWS: rowsMax, RATE_LIMIT_WINDOW_MS: windowMs } = config;
    if (requestsMax === undefined && rowsMax === undefined) return null;
    const { RateLimit } = await import('./rate-limit.ts');
    const limit = (name: LimitName, max: number | undefined): RateLimit | null => {
      return max === undefined ? null : new RateLimit(name, max, windowMs);
    };
    return new RateLimits(limit('requests', requestsMax), limit('rows', rowsMax), observer);
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
