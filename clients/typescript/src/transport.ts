/** Sends requests until they are answered: those that may be sent again without taking effect twice. */
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
   * How long a request without an answer is tried again, in milliseconds. Default: two minutes, enough for a server to
   * restart.
   */
  readonly patienceMs?: number;
  /**
   * The longest wait for a rate limit, in milliseconds. Default: a minute. What takes longer is thrown. Infinity:
   * however long it takes.
   */
  readonly limitWaitMs?: number;
  /** Makes values of the JSON texts of answers. Default: `JSON.parse`, of which each number is a double. */
  readonly parseJson?: (text: string) => unknown;
  /** Called with the reason of each retry. */
  readonly onRetry?: (reason: Error) => void;
}

/**
 * The operations of the interface, typed by its OpenAPI document. Whatever is no success is thrown (TablogError,
 * Unreachable).
 */
export type Operations = Client<paths>;

export interface Transport {
  /** Answers come whole: one that breaks off is asked for again. */
  readonly operations: Operations;
  /** Answers come as they are sent: one that breaks off is an error of its reader. */
  readonly streaming: Operations;
  /** Requests go on when the client's signal aborts: what a program leaves behind is cleared away. */
  readonly lasting: Operations;
  /** Sends bytes to a signed URL, which may be one of S3: without the token. */
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
  /** Whether the signal of the client aborts it. */
  readonly isLasting: boolean;
}

const delayMinMs = 200;
const delayMaxMs = 5000;

/** The bounds of a wait for a rate limit, whatever the server says. */
const limitMinMs = 1000;
const limitMaxMs = 3_600_000;

/** How long an attempt may take. */
const attemptMs = 300_000;

/** How long a chunk of a stash may still be on its way once it was aborted. */
const graceMs = 5000;

/** Statuses that a service, or a proxy in front of it, answers while it is unavailable. */
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

/** What is to be sent, as often as need be: the body of a `Request` can be sent once. */
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

  /** A service may still process it after the stash was deleted, and then there is a stash again. */
  get isChunk(): boolean {
    return this.method === 'PUT' && this.#path.includes('/stashes/');
  }

  /** Whether it takes effect once if it is sent twice. */
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
  /** A server that has never answered is probably not there. */
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
      // Whatever listens at a wrong address answers with a page.
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

/** An answer whose bytes have come. */
function wholeOf(bytes: ArrayBuffer, response: Response, parse: TransportOptions['parseJson']): Response {
  const whole = new Response(bytes, response);
  if (parse === undefined) return whole;
  // Whoever reads the answer asks it for JSON only if its length is known.
  whole.headers.set('content-length', String(bytes.byteLength));
  return Object.assign(whole, { json: async () => parse(await whole.text()) });
}

/** Aborts a while after another signal. */
function later(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  signal.addEventListener('abort', () => setTimeout(() => controller.abort(signal.reason), graceMs), { once: true });
  return controller.signal;
}
