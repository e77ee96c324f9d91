/**
 * Rate limits per team and time window: of requests, rows written, bytes of bodies, and imports
 * (docs/reference/rate-limits.md). Counted in the memory of this process. Every answer has the remaining units in the
 * fields `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10.
 */
import type { FastifyRequest } from 'fastify';
import { serializeList, type Item } from 'structured-headers';
import type { App } from '../server/app-type.ts';
import { replyWithError } from '../answers/error-reply.ts';
import { HttpError } from '../answers/http-error.ts';
import { observeBody } from '../bodies/request-body.ts';
import { RateLimit, type RateLimitRefusal } from './rate-limit.ts';
import {
  teamLimitNames,
  type LimitName,
  type RequestObserver,
  type TeamLimitName,
} from '../server/request-observer.ts';

/** The setting of each limit. */
const settings = {
  requests: 'RATE_LIMIT_REQUESTS',
  rows: 'RATE_LIMIT_ROWS',
  bytes: 'RATE_LIMIT_BYTES',
  imports: 'RATE_LIMIT_IMPORTS',
} as const satisfies Record<TeamLimitName, string>;

/** The settings of the limits of a team. An absent setting means no limit. */
type LimitSettings = { readonly [S in (typeof settings)[TeamLimitName]]?: number | undefined } & {
  readonly RATE_LIMIT_WINDOW_MS: number;
};

/** A limit of a team: units in a window, units that are left, and in how many seconds the window ends. */
interface LimitStanding {
  readonly name: TeamLimitName;
  readonly max: number;
  readonly windowSeconds: number;
  readonly left: number;
  readonly resetSeconds: number;
}

/** The configured limits, applied to requests. */
export class RateLimits {
  /** In the order of the headers. Limits that are not set are missing. */
  readonly #limits: ReadonlyMap<TeamLimitName, RateLimit>;
  readonly #observer: Pick<RequestObserver, 'rateLimited'>;

  private constructor(limits: ReadonlyMap<TeamLimitName, RateLimit>, observer: Pick<RequestObserver, 'rateLimited'>) {
    this.#limits = limits;
    this.#observer = observer;
  }

  /** Null if the settings have no limit. */
  static of(config: LimitSettings, observer: Pick<RequestObserver, 'rateLimited'>): RateLimits | null {
    const limits = teamLimitNames.flatMap((name): [TeamLimitName, RateLimit][] => {
      const max = config[settings[name]];
      return max === undefined ? [] : [[name, new RateLimit(name, max, config.RATE_LIMIT_WINDOW_MS)]];
    });
    return limits.length === 0 ? null : new RateLimits(new Map(limits), observer);
  }

  /** Counts every authenticated request, and its body while it is read. Adds the rate limit headers to each answer. */
  addTo(app: App): void {
    app.addHook('preParsing', (request, reply, _payload, done) => {
      const teamId = teamOf(request);
      const refusal = teamId === undefined ? null : this.#take('requests', teamId, 1);
      if (refusal !== null) {
        replyWithError(reply, 'rate_limited', refusal.message, refusal.headers);
        return;
      }
      if (teamId !== undefined) this.countBody(teamId, request);
      done();
    });
    const limits = [...this.#limits.values()];
    const policies = formatPolicies(limits);
    app.addHook('onSend', (request, reply, payload, done) => {
      const teamId = teamOf(request);
      if (teamId !== undefined) {
        void reply.headers({ 'ratelimit-policy': policies, 'ratelimit': formatStandings(limits, teamId) });
      }
      done(null, payload);
    });
  }

  /**
   * Counts the bytes of a body for a team as they arrive. If the first part has more bytes than are left, reading the
   * body fails with HttpError `rate_limited`. Later parts are always accepted.
   */
  countBody(teamId: string, { raw }: Pick<FastifyRequest, 'raw'>): void {
    if (!this.#limits.has('bytes')) return;
    let hasBegun = false;
    observeBody(raw, (bytes) => {
      if (hasBegun) this.count('bytes', teamId, bytes);
      else this.take('bytes', teamId, bytes);
      hasBegun = true;
    });
  }

  /** Counts units that are about to be used. Throws HttpError `rate_limited` if fewer are left. */
  take(name: TeamLimitName, teamId: string, units: number): void {
    const refusal = this.#take(name, teamId, units);
    if (refusal !== null) throw new HttpError('rate_limited', refusal.message, refusal.headers);
  }

  /** The standing of each limit of a team, in this process. */
  standings(teamId: string): readonly LimitStanding[] {
    return [...this.#limits].map(([name, limit]) => {
      const {
        policy: { max, seconds: windowSeconds },
      } = limit;
      const { units: left, seconds: resetSeconds } = limit.left(teamId);
      return { name, max, windowSeconds, left, resetSeconds };
    });
  }

  /**
   * Counts units that can no longer be refused, such as later rows of a body whose first rows are in the log already.
   */
  count(name: TeamLimitName, teamId: string, units: number): void {
    this.#limits.get(name)?.count(teamId, units);
  }

  #take(name: TeamLimitName, teamId: string, units: number): RateLimitRefusal | null {
    const refusal = this.#limits.get(name)?.take(teamId, units) ?? null;
    if (refusal !== null) this.#observer.rateLimited(name);
    return refusal;
  }
}

/**
 * The team of a request. A request without a valid token has none: on a public route, on an unknown path, or with a
 * refused token.
 */
function teamOf(request: FastifyRequest): string | undefined {
  return (request as Partial<Pick<FastifyRequest, 'principal'>>).principal?.teamId;
}

/** `"requests";q=100;w=60, "rows";q=5000;qu="rows";w=60` */
function formatPolicies(limits: readonly RateLimit[]): string {
  return serializeList(
    limits.map(({ name, policy: { max, seconds } }) => {
      const unit = unitOf(name);
      return [
        name,
        new Map<string, number | string>([
          ['q', max],
          ...(unit === null ? [] : [['qu', unit] as const]),
          ['w', seconds],
        ]),
      ];
    }),
  );
}

/**
 * The quota unit of a limit. Null for requests, which are the default; for bytes of bodies, the name that the draft
 * gives them.
 */
function unitOf(name: LimitName): string | null {
  if (name === 'requests') return null;
  return name === 'bytes' ? 'content-bytes' : name;
}

/** `"requests";r=50;t=30, "rows";r=5000;t=60` */
function formatStandings(limits: readonly RateLimit[], teamId: string): string {
  return serializeList(
    limits.map((limit): Item => {
      const { units, seconds } = limit.left(teamId);
      return [
        limit.name,
        new Map([
          ['r', units],
          ['t', seconds],
        ]),
      ];
    }),
  );
}
