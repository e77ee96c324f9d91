/** Sends requests until they are answered: those that may be sent again without taking effect twice. */
import createClient, { type Client } from 'openapi-fetch';
import pRetry from 'p-retry';
import { errorOf, TablogError, Unreachable } from './errors.ts';
import type { paths } from './interface.ts';
import { pause } from './pause.ts';

export interface TransportOptions {
  /** The address of the service, such as `https://tablog.example.org`. */
  readonly url: string;
  /** An access token. */
  readonly token: string;
  /** Aborts every request. */
  readonly signal?: AbortSignal;
  /** How long a request without an answer is tried again, in milliseconds. Default: two minutes, enough for a server to restart. */
  readonly patienceMs?: number;
  /** The longest wait for a rate limit, in milliseconds. Default: a minute. What takes longer is thrown. */
  readonly limitWaitMs?: number;
  /** Called with the reason of each retry. */
  readonly onRetry?: (reason: Error) => void;
  /** Used instead of the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch;
}

/** The operations of the interface, typed by its OpenAPI document. Whatever is no success is thrown (TablogError, Unreachable). */
export type Operations = Client<paths>;

const delayMinMs = 200;
const delayMaxMs = 5000;

/** The least wait for a rate limit, whatever the server says. */
const limitMinMs = 1000;

/** How long an attempt may take. */
const attemptMs = 300_000;

/** Statuses that a service, or a proxy in front of it, answers while it is unavailable. */
const passingStatuses: ReadonlySet<number | null> = new Set([502, 503, 504]);

export interface Transport {
  /** Answers come whole: one that breaks off is asked for again. */
  readonly operations: Operations;
  /** Answers come as they are sent: one that breaks off is an error of its reader. */
  readonly streaming: Operations;
}

export function openTransport({ url, token, fetch = (...request) => globalThis.fetch(...request), ...options }: TransportOptions): Transport {
  const baseUrl = url.replace(/\/+$/, '');
  const sender = new Sender({ ...options, url: baseUrl, fetch });
  const open = (isWhole: boolean): Operations => createClient<paths>({
    baseUrl, headers: { authorization: `Bearer ${token}` }, fetch: (request) => sender.send(request, isWhole),
    // A redirected POST would become a GET, and another host would get the request without its token.
    redirect: 'error',
  });
  return { operations: open(true), streaming: open(false) };
}

type SenderOptions = Omit<TransportOptions, 'token' | 'fetch'> & Required<Pick<TransportOptions, 'fetch'>>;

class Sender {
  readonly #options: SenderOptions;
  /** A server that has never answered is probably not there. */
  #hasAnswered = false;

  constructor(options: SenderOptions) {
    this.#options = options;
  }

  /** `isWhole`: whether to read the whole answer before this resolves. */
  async send(request: Request, isWhole: boolean): Promise<Response> {
    const { limitWaitMs = 60_000, onRetry } = this.#options;
    const signal = this.#signalOf(request);
    for (;;) {
      try {
        return await this.#sendPatiently(request, isWhole, signal);
      } catch (error) {
        if (!(error instanceof TablogError && error.status === 429) || error.retryAfterMs > limitWaitMs) throw error;
        onRetry?.(error);
        await pause(Math.max(error.retryAfterMs, limitMinMs), signal);
      }
    }
  }

  #signalOf({ signal }: Request): AbortSignal {
    return this.#options.signal ? AbortSignal.any([signal, this.#options.signal]) : signal;
  }

  /** Throws TablogError for 429 at once. */
  #sendPatiently(request: Request, isWhole: boolean, signal: AbortSignal): Promise<Response> {
    const { patienceMs = 120_000, onRetry } = this.#options;
    const isWorthwhile = (error: unknown): boolean => {
      if (!mayRepeat(request)) return false;
      return error instanceof TablogError ? passingStatuses.has(error.status) : error instanceof Unreachable && this.#hasAnswered;
    };
    return pRetry(() => this.#attempt(request.clone(), isWhole, signal), {
      retries: Infinity, minTimeout: delayMinMs, maxTimeout: delayMaxMs, maxRetryTime: patienceMs, randomize: true, signal,
      shouldRetry: ({ error }) => isWorthwhile(error),
      onFailedAttempt: async ({ error, retryDelay }) => {
        if (!isWorthwhile(error)) return;
        onRetry?.(error);
        const delay = error instanceof TablogError ? error.retryAfterMs - retryDelay : 0;
        if (delay > 0) await pause(delay, signal);
      },
    });
  }

  async #attempt(request: Request, isWhole: boolean, signal: AbortSignal): Promise<Response> {
    let response: Response;
    try {
      response = await this.#options.fetch(request, { signal: isWhole ? AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]) : signal });
      if (isWhole && response.ok && response.body !== null) response = new Response(await response.arrayBuffer(), response);
    } catch (error) {
      signal.throwIfAborted();
      throw new Unreachable(this.#options.url, error);
    }
    this.#hasAnswered = true;
    if (response.ok) return response;
    throw await errorOf(response);
  }
}

/** Whether a request that was sent twice takes effect once. */
function mayRepeat({ method, url, headers }: Request): boolean {
  return method === 'GET' || method === 'HEAD' || headers.has('idempotency-key')
    || (method === 'POST' && new URL(url).pathname.endsWith('/query'))
    || (method === 'PUT' && new URL(url).pathname.includes('/stashes/'));
}
