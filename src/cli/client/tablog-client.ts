/** Sends the requests of the command line to the service, with retries. */
import pRetry from 'p-retry';
import { z } from 'zod';
import { pause } from '../../pause.ts';
import type { ClientSettings } from './client-settings.ts';
import { ServerAway, ServerRefusal, notTablog } from './server-error.ts';

/** How long a request is retried without an answer, in milliseconds: enough for a server to restart. */
const patienceMs = 120_000;
const delayMinMs = 200;
const delayMaxMs = 5_000;
/** Bounds of the wait for a rate limit, whatever the server says, in milliseconds. */
const limitMinMs = 1_000;
const limitMaxMs = 3_600_000;
/** Timeout of one attempt, in milliseconds. */
const attemptMs = 300_000;
/** How long an attempt with `mayFinish` may continue once this process was told to stop, in milliseconds. */
const graceMs = 5_000;

export interface ClientOptions {
  readonly settings: ClientSettings;
  /** Aborts every request. */
  readonly signal: AbortSignal;
  /** Called with the reason for each retry. */
  readonly onRetry?: (reason: string) => void;
}

export interface Sending {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array<ArrayBuffer>;
  /** Replaces the client's signal. */
  readonly signal?: AbortSignal;
  /** Whether an attempt in flight may finish for a while after the signal aborts. */
  readonly mayFinish?: boolean;
}

const errorBody = z.object({ error: z.object({ type: z.string(), message: z.string() }) });

export class TablogClient {
  readonly #options: ClientOptions;
  /** Aborts the attempts that may finish. */
  readonly #lateSignal: AbortSignal;
  #hasAnswered = false;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.#lateSignal = later(options.signal);
  }

  /**
   * Sends a request until it is answered, and returns what `read` makes of the answer. Only for idempotent requests: reads, chunks
   * of a stash, and requests with an `Idempotency-Key`. A server that has never answered is not retried: its URL is probably wrong.
   * After 429 it waits as long as the server says, however often: that is not a failure, and the limit is available again when its
   * window ends.
   * @throws ServerRefusal, ServerAway, and the reason of the signal
   */
  async request<T>(method: string, path: string, sending: Sending, read: (response: Response) => Promise<T>): Promise<T> {
    const signal = sending.signal ?? this.#options.signal;
    for (;;) {
      try {
        return await this.#requestPatiently(method, path, sending, signal, read);
      } catch (error) {
        if (!(error instanceof ServerRefusal && error.isRateLimited)) throw error;
        this.#options.onRetry?.(error.message);
        await pause(Math.min(Math.max(error.retryAfterMs, limitMinMs), limitMaxMs), signal);
      }
    }
  }

  /** Sends a request with retries until it is answered, or patience ends. Throws ServerRefusal for 429 at once. */
  #requestPatiently<T>(
    method: string, path: string, sending: Sending, signal: AbortSignal, read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { settings, onRetry } = this.#options;
    return pRetry(() => this.#attempt(method, `${settings.url}${path}`, sending, signal, read), {
      retries: Infinity, minTimeout: delayMinMs, maxTimeout: delayMaxMs, maxRetryTime: patienceMs, randomize: true, signal,
      shouldRetry: ({ error }) => this.#isWorthwhile(error),
      onFailedAttempt: async ({ error, retryDelay }) => {
        if (!this.#isWorthwhile(error)) return;
        onRetry?.(error.message);
        const delay = error instanceof ServerRefusal ? error.retryAfterMs - retryDelay : 0;
        if (delay > 0) await pause(delay, signal);
      },
    });
  }

  /** The JSON of the answer to a GET. */
  async get<S extends z.ZodType>(path: string, schema: S): Promise<z.output<S>> {
    return this.request('GET', path, {}, (response) => readJson(response, schema));
  }

  #isWorthwhile(error: unknown): boolean {
    if (error instanceof ServerRefusal) return error.isPassing;
    return error instanceof ServerAway && this.#hasAnswered;
  }

  async #attempt<T>(
    method: string, url: string, { headers = {}, body, mayFinish = false }: Sending, signal: AbortSignal, read: (response: Response) => Promise<T>,
  ): Promise<T> {
    const { token, url: server } = this.#options.settings;
    try {
      const response = await fetch(url, {
        method, headers: { authorization: `Bearer ${token}`, ...headers }, ...(body === undefined ? {} : { body }),
        // A redirected POST would become a GET, and another host would get the request without its token.
        redirect: 'manual', signal: AbortSignal.any([mayFinish ? this.#lateSignal : signal, AbortSignal.timeout(attemptMs)]),
      });
      if (!response.ok) throw await refusalOf(response);
      const result = await read(response);
      this.#hasAnswered = true;
      return result;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ServerRefusal) this.#hasAnswered = true;
      throw isLost(error) ? new ServerAway(server, error) : error;
    }
  }
}

/** Aborts a while after another signal. */
function later(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  signal.addEventListener('abort', () => setTimeout(() => controller.abort(signal.reason), graceMs).unref(), { once: true });
  return controller.signal;
}

/**
 * Whether `fetch` failed with a connection error: a TypeError with a cause, which TypeErrors of bugs lack. This includes answers
 * that are cut short.
 */
function isLost(error: unknown): boolean {
  const { name, cause } = error as Error;
  return name === 'TimeoutError' || (name === 'TypeError' && cause !== undefined);
}

/** The JSON of an answer. Throws ServerRefusal if it does not match the schema. */
export async function readJson<S extends z.ZodType>(response: Response, schema: S): Promise<z.output<S>> {
  const parsed = schema.safeParse(parseJson(await response.text()));
  if (!parsed.success) throw notTablog(response.status);
  return parsed.data;
}

/** The version in the ETag of an answer. Throws ServerRefusal if there is none. */
export function versionOf(response: Response): string {
  const version = /^(?:W\/)?"(\d+)"$/.exec(response.headers.get('etag') ?? '')?.[1];
  if (version === undefined) throw notTablog(response.status);
  return version;
}

async function refusalOf(response: Response): Promise<ServerRefusal> {
  const text = await response.text();
  const { status } = response;
  const retryAfterMs = Number(response.headers.get('retry-after') ?? 0) * 1000 || 0;
  const location = response.headers.get('location');
  if (status >= 300 && status < 400 && location !== null) {
    return new ServerRefusal(status, null, `The server is elsewhere: it answers ${status} with ${location}. Give that as --url.`);
  }
  const parsed = errorBody.safeParse(parseJson(text));
  if (!parsed.success) return notTablog(status, retryAfterMs);
  const { type, message } = parsed.data.error;
  return new ServerRefusal(status, type, message, retryAfterMs);
}

/** Undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
