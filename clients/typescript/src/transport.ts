/** Sends requests until they are answered. Repeats only requests that cannot take effect twice. */
import createClient, { type Client } from 'openapi-fetch';
import pRetry from 'p-retry';
import { errorOf, notTablog, TablogError, Unreachable } from './errors.ts';
import { takeUnused } from './headers.ts';
import type { paths } from './interface.ts';
import { pause } from './pause.ts';
import { stringify } from './stringify.ts';

export interface TransportOptions {
  /** The address of the service, such as `https://tablog.example.org`. */
  readonly url: string;
  /** An access token. */
  readonly token: string;
  /** Aborts every request. */
  readonly signal?: AbortSignal;
  /**
   * How long a request without an answer is repeated, in milliseconds. Default: two minutes, enough for a server to
   * restart.
   */
  readonly patienceMs?: number;
  /**
   * Maximum wait for a rate limit, in milliseconds. Default: a minute. If the limit takes longer, the error is thrown.
   * Infinity: waits however long it takes.
   */
  readonly limitWaitMs?: number;
  /** Parses the JSON of answers. Default: `JSON.parse`, which makes every number a double. */
  readonly parseJson?: (text: string) => unknown;
  /** Called with the reason of each retry. */
  readonly onRetry?: (reason: Error) => void;
}

/**
 * The operations of the interface, typed by its OpenAPI document. Every unsuccessful answer is thrown (TablogError,
 * Unreachable).
 */
export type Operations = Client<paths>;

export interface Transport {
  /** Reads whole answers. If an answer breaks off, the request is repeated. */
  readonly operations: Operations;
  /** Passes answers on as they arrive. If an answer breaks off, its reader gets the error. */
  readonly streaming: Operations;
  /** Requests that continue when the client's signal aborts, to clean up. */
  readonly lasting: Operations;
  /** Sends bytes to a signed URL, which may be one of S3, without the token. */
  readonly putSigned: (
    url: string,
    bytes: Blob | Uint8Array<ArrayBuffer>,
    contentType: string,
    signal: AbortSignal | null,
  ) => Promise<void>;
}

/** How a request is sent. */
interface Sending {
  /** Whether to read the whole answer. */
  readonly isWhole: boolean;
  /** Whether the request continues when the client's signal aborts. */
  readonly isLasting: boolean;
}

const delayMinMs = 200;
const delayMaxMs = 5000;

/** Bounds of the wait for a rate limit, whatever the server says, in milliseconds. */
const limitMinMs = 1000;
const limitMaxMs = 3_600_000;

/** Maximum time for one attempt, in milliseconds. */
const attemptMs = 300_000;

/** How long a chunk of a stash may still be in transit after it was aborted, in milliseconds. */
const graceMs = 5000;

/** Statuses that a service, or a proxy in front of it, returns while it is unavailable. */
const passingStatuses: ReadonlySet<number | null> = new Set([502, 503, 504]);

export function openTransport({ url, token, ...options }: TransportOptions): Transport {
  const baseUrl = url.replace(/\/+$/, '');
  const sender = new Sender({ ...options, url: baseUrl });
  const open = (sending: Sending): Operations =>
    createClient<paths>({
      baseUrl,
      headers: { authorization: `Bearer ${token}` },
      bodySerializer: stringify,
      Request: Asked as unknown as typeof Request,
      fetch: (asked) => sender.send(asked as unknown as Asked, sending),
    });
  return {
    operations: open({ isWhole: true, isLasting: false }),
    streaming: open({ isWhole: false, isLasting: false }),
    lasting: open({ isWhole: true, isLasting: true }),
    putSigned: async (to, body, contentType, signal) => {
      const asked = new Asked(to, { method: 'PUT', headers: { 'content-type': contentType }, body, signal }, true);
      await sender.send(asked, { isWhole: true, isLasting: false });
    },
  };
}

/** A request that can be sent several times. (The body of a `Request` can be sent once.) */
class Asked {
  readonly url: string;
  readonly method: string;
  readonly headers: Headers;
  readonly body: NonNullable<RequestInit['body']> | null;
  readonly signal: AbortSignal | null;
  readonly #isSignedPut: boolean;
  /** Whether the next try is the first with its key. */
  isFirstTry = false;

  constructor(url: string, { method = 'GET', headers, body = null, signal = null }: RequestInit, isSignedPut = false) {
    this.url = url;
    this.method = method;
    this.headers = new Headers(headers);
    this.body = body;
    this.signal = signal;
    this.#isSignedPut = isSignedPut;
  }

  get #path(): string {
    return new URL(this.url).pathname;
  }

  /**
   * Whether the request is a chunk. A service may still process a chunk after the stash was deleted, and then the stash
   * exists again.
   */
  get isChunk(): boolean {
    return this.method === 'PUT' && this.#path.includes('/stashes/');
  }

  /** Whether the request takes effect only once even if it is sent twice. */
  get mayRepeat(): boolean {
    return (
      ['GET', 'HEAD', 'DELETE'].includes(this.method) ||
      this.headers.has('idempotency-key') ||
      this.isChunk ||
      this.#isSignedPut ||
      (this.method === 'POST' && this.#path.endsWith('/query'))
    );
  }
}

class Sender {
  readonly #options: Omit<TransportOptions, 'token'>;
  /** A server that has never answered probably does not exist. */
  #hasAnswered = false;

  constructor(options: Omit<TransportOptions, 'token'>) {
    this.#options = options;
  }

  async send(asked: Asked, { isWhole, isLasting }: Sending): Promise<Response> {
    const { limitWaitMs = 60_000, onRetry, signal: common } = this.#options;
    const signal = AbortSignal.any(
      [asked.signal, isLasting ? null : common].filter((given) => given !== null && given !== undefined),
    );
    asked.isFirstTry = takeUnused(asked.headers.get('idempotency-key'));
    for (;;) {
      try {
        return await this.#sendPatiently(asked, isWhole, signal);
      } catch (error) {
        if (!(error instanceof TablogError && error.status === 429) || error.retryAfterMs > limitWaitMs) throw error;
        onRetry?.(error);
        await pause(Math.min(Math.max(error.retryAfterMs, limitMinMs), limitMaxMs), signal);
      }
    }
  }

  /** Throws TablogError for 429 at once. */
  #sendPatiently(asked: Asked, isWhole: boolean, signal: AbortSignal): Promise<Response> {
    const { patienceMs = 120_000, onRetry } = this.#options;
    const isWorthwhile = (error: unknown): boolean => {
      if (!asked.mayRepeat) return false;
      return error instanceof TablogError
        ? passingStatuses.has(error.status)
        : error instanceof Unreachable && this.#hasAnswered;
    };
    return pRetry(() => this.#attempt(asked, isWhole, signal), {
      retries: Infinity,
      minTimeout: delayMinMs,
      maxTimeout: delayMaxMs,
      maxRetryTime: patienceMs,
      randomize: true,
      signal,
      shouldRetry: ({ error }) => isWorthwhile(error),
      onFailedAttempt: async ({ error, retryDelay }) => {
        if (!isWorthwhile(error)) return;
        onRetry?.(error);
        const delay = error instanceof TablogError ? error.retryAfterMs - retryDelay : 0;
        if (delay > 0) await pause(delay, signal);
      },
    });
  }

  async #attempt(asked: Asked, isWhole: boolean, signal: AbortSignal): Promise<Response> {
    const { url, method, headers, body, isFirstTry } = asked;
    asked.isFirstTry = false;
    const abort = asked.isChunk ? later(signal) : signal;
    let response: Response;
    try {
      response = await fetch(url, {
        // A redirected POST would become a GET, and another host would get the request without its token.
        method,
        headers,
        body,
        redirect: 'manual',
        signal: isWhole ? AbortSignal.any([abort, AbortSignal.timeout(attemptMs)]) : abort,
      });
      if (!response.ok) throw await errorOf(response, isFirstTry);
      // Servers at a wrong address often answer with a page.
      if (response.headers.get('content-type')?.startsWith('text/html')) throw notTablog(response.status);
      if (isWhole && response.body !== null)
        response = wholeOf(await response.arrayBuffer(), response, this.#options.parseJson);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TablogError)) throw new Unreachable(this.#options.url, error);
      this.#hasAnswered = true;
      throw error;
    }
    this.#hasAnswered = true;
    return response;
  }
}

/** An answer whose bytes have all arrived. */
function wholeOf(bytes: ArrayBuffer, response: Response, parse: TransportOptions['parseJson']): Response {
  const whole = new Response(bytes, response);
  if (parse === undefined) return whole;
  // The reader of an answer reads JSON only if the length is known.
  whole.headers.set('content-length', String(bytes.byteLength));
  return Object.assign(whole, { json: async () => parse(await whole.text()) });
}

/** A signal that aborts a while after another signal. */
function later(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  signal.addEventListener('abort', () => setTimeout(() => controller.abort(signal.reason), graceMs), { once: true });
  return controller.signal;
}
