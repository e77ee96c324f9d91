/** What goes wrong between the command line and the service, in words for its user. */
import { UserError } from '../run-to-end.ts';

/** The service refused a request, or could not do it. */
export class ServerRefusal extends UserError {
  /** Null for a job that failed. */
  readonly status: number | null;
  /** An error type of the interface; null where the answer is not one of the interface. */
  readonly type: string | null;
  /** The message as the service gave it. */
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

  /** The same, told with the place that it is about. */
  within(place: string): ServerRefusal {
    return new ServerRefusal(this.status, this.type, this.told, this.retryAfterMs, `${place}: `);
  }

  /** Whether there were too many requests, or rows: the same one goes through when the server says. */
  get isRateLimited(): boolean {
    return this.status === 429;
  }

  /** Whether the service is away: the same request may go through later. */
  get isPassing(): boolean {
    return this.status !== null && passingStatuses.has(this.status);
  }
}

/** An answer that is none of the interface. */
export function notTablog(status: number, retryAfterMs = 0): ServerRefusal {
  return new ServerRefusal(status, null, `The server answers ${status}, but not as Tablog does: is its URL right?`, retryAfterMs);
}

/** What a service, or a proxy before it, answers while it is away. */
const passingStatuses: ReadonlySet<number> = new Set([502, 503, 504]);

/** No answer, or half of one. Whether the service did what it was asked is not known. */
export class ServerAway extends UserError {
  constructor(url: string, cause: unknown) {
    super(`The server at ${url} cannot be reached: ${reasonOf(cause)}`, { cause });
  }
}

/** `fetch` says only that it failed; why stands in its cause, and a host with several addresses fails once for each. */
function reasonOf(error: unknown): string {
  const { cause, errors, message } = error as Partial<AggregateError>;
  const inner: unknown = errors?.[0] ?? cause;
  return inner === undefined || inner === null ? message ?? String(error) : reasonOf(inner);
}
