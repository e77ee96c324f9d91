/** Errors between a program and the service. */
import type { components } from './interface.ts';

type Responses = components['responses'];
type BodyOf<Response> = Response extends { content: { 'application/json': infer Body } } ? Body : never;

/** The error types of the interface, such as `table_not_found`. */
export type ErrorType = Extract<BodyOf<Responses[keyof Responses]>, { error: unknown }>['error']['type'];

/** The service refused a request, failed to do it, or does not have the requested thing. */
export class TablogError extends Error {
  override readonly name = 'TablogError';
  /** Null for a job that failed, and for a name that several tables have. */
  readonly status: number | null;
  /** Null if the answer is not Tablog's: a proxy gave it, or the URL belongs to another server. */
  readonly type: ErrorType | null;
  /** In how many milliseconds to ask again; 0 if the service does not say. */
  readonly retryAfterMs: number;

  constructor(status: number | null, type: ErrorType | null, message: string, retryAfterMs = 0) {
    super(message);
    this.status = status;
    this.type = type;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer came, or only a part of it. The request may or may not have taken effect. */
export class Unreachable extends Error {
  override readonly name = 'Unreachable';

  constructor(url: string, cause: unknown) {
    super(`The server at ${url} cannot be reached: ${reasonOf(cause)}`, { cause });
  }
}

/** Statuses of errors that only the first try of a request may get (`Tablog-Turned-Away`). */
const statusOfFirstTry: ReadonlyMap<string, number> = new Map([
  ['limit_exceeded', 400],
  ['payment_required', 402],
]);

/**
 * Reads the error from an unsuccessful answer. `isFirstTry`: no request with the same key was sent before, so a request
 * that was turned away is certainly refused.
 */
export async function errorOf(response: Response, isFirstTry: boolean): Promise<TablogError> {
  const location = response.headers.get('location');
  // A browser hides the new address.
  if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400 && location !== null)) {
    return new TablogError(
      response.status,
      null,
      `The server has moved: it answers ${response.status} with ${location ?? 'another address'}. Use that as the URL.`,
    );
  }
  const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1000 || 0;
  const { error } = parse(await response.text());
  if (typeof error?.type === 'string' && typeof error.message === 'string') {
    const turnedAway = response.headers.get('tablog-turned-away');
    const status = isFirstTry && turnedAway !== null ? statusOfFirstTry.get(turnedAway) : undefined;
    if (status !== undefined)
      return new TablogError(
        status,
        turnedAway as ErrorType,
        // Earlier versions of the service say "Whether an earlier try".
        error.message.replace(/\.? (?:Whether an|An) earlier try .*$/, ''),
        retryAfterMs,
      );
    return new TablogError(response.status, error.type as ErrorType, error.message, retryAfterMs);
  }
  return notTablog(response.status, retryAfterMs);
}

/** The error for an answer that does not come from Tablog. */
export function notTablog(status: number, retryAfterMs = 0): TablogError {
  return new TablogError(
    status,
    null,
    `The server answers ${status}, but not as Tablog does. Check the URL.`,
    retryAfterMs,
  );
}

function parse(text: string): { readonly error?: { readonly type?: unknown; readonly message?: unknown } } {
  try {
    return (JSON.parse(text) as object | null) ?? {};
  } catch {
    return {};
  }
}

/**
 * The reason of a failed `fetch`. `fetch` itself reports only that it failed. The reason is in its cause, and a host
 * with several addresses fails once for each.
 */
function reasonOf(error: unknown): string {
  const { cause, errors, message } = error as Partial<AggregateError>;
  const inner: unknown = errors?.[0] ?? cause;
  return inner === undefined || inner === null ? (message ?? String(error)) : reasonOf(inner);
}
