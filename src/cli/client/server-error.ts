/** Errors between the command line and the service, in terms of the user. */
import { UserError } from '../run-to-end.ts';

/** The service refused a request, or failed to do it. */
export class ServerRefusal extends UserError {
  /** Null for a job that failed. */
  readonly status: number | null;
  /** An error type of the interface; null if the answer has none. */
  readonly type: string | null;
  /** The message of the service. */
  readonly told: string;
  /** How long to wait before the next attempt, in milliseconds. */
  readonly retryAfterMs: number;

  constructor(status: number | null, type: string | null, told: string, retryAfterMs = 0, place = '') {
    super(`${place}${type === null ? '' : `${type}: `}${told}`);
    this.status = status;
    this.type = type;
    this.told = told;
    this.retryAfterMs = retryAfterMs;
  }

  /** The same error, prefixed with the place that it is about. */
  within(place: string): ServerRefusal {
    return new ServerRefusal(this.status, this.type, this.told, this.retryAfterMs, `${place}: `);
  }

  /** Whether a rate limit was exceeded: the request succeeds after `retryAfterMs`. */
  get isRateLimited(): boolean {
    return this.status === 429;
  }

  /** Whether the service is temporarily unavailable: a retry may succeed. */
  get isPassing(): boolean {
    return this.status !== null && passingStatuses.has(this.status);
  }
}

/** The answer is not in the format of the interface. */
export function notTablog(status: number, retryAfterMs = 0): ServerRefusal {
  return new ServerRefusal(status, null, `The server answers ${status}, but not as Tablog does: is its URL right?`, retryAfterMs);
}

/** Statuses that a service, or a proxy in front of it, answers while it is unavailable. */
const passingStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/** No answer, or an incomplete one. Whether the request took effect is unknown. */
export class ServerAway extends UserError {
  constructor(url: string, cause: unknown) {
    super(`The server at ${url} cannot be reached: ${reasonOf(cause)}`, { cause });
  }
}

/** `fetch` reports only that it failed; the reason is in its cause, and a host with several addresses fails once for each. */
function reasonOf(error: unknown): string {
  const { cause, errors, message } = error as Partial<AggregateError>;
  const inner: unknown = errors?.[0] ?? cause;
  return inner === undefined || inner === null ? message ?? String(error) : reasonOf(inner);
}
