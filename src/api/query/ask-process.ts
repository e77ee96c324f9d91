/** Sends requests to a query process over HTTP. */
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { json } from 'node:stream/consumers';
import type { EngineAddress } from './engine-addresses.ts';

/** Time limit for connecting to the query process of another API, in milliseconds. */
const connectMs = 5000;

/** The engine refused the query. `type` is an error type of the interface. */
export class EngineRefusal extends Error {
  override readonly name = 'EngineRefusal';
  readonly type: string;
  /** After how many seconds the query may be repeated; null: repeating it does not help. */
  readonly retryAfter: number | null;

  constructor(type: string, message: string, retryAfter: number | null = null, options: ErrorOptions = {}) {
    super(message, options);
    this.type = type;
    this.retryAfter = retryAfter;
  }
}

/** The query process could not be started, or ended while it answered. */
export class EngineGone extends Error {
  override readonly name = 'EngineGone';
}

/** No process listens at the address of a query process any more, or another one does. */
export class EngineReplaced extends EngineGone {}

export interface Answering {
  readonly response: IncomingMessage;
  readonly headers: Readonly<Record<string, string>>;
}

/** Resolves to the answer once it begins. Rejects with EngineRefusal, EngineGone, or as the signal says. */
export async function post(
  { url, secret }: EngineAddress,
  path: string,
  body: object,
  signal: AbortSignal,
): Promise<Answering> {
  const text = JSON.stringify(body);
  for (;;) {
    const request = httpRequest(`${url}${path}`, { method: 'POST', headers: { authorization: secret }, signal });
    try {
      // Later errors also end the response, so ignore them here.
      request.on('error', () => undefined);
      request.once('socket', (socket) => limitConnecting(socket));
      request.end(text);
      const [response] = (await once(request, 'response')) as [IncomingMessage];
      await checkStatus(response.statusCode!, response);
      return { response, headers: response.headers as Record<string, string> };
    } catch (error) {
      // The process may have closed the idle connection just when the request was sent: try again. If the process has
      // ended, the next connection fails.
      if (!request.reusedSocket || !isBrokenConnection(error) || signal.aborted) throw problemOf(error, signal);
    }
  }
}

function isBrokenConnection(error: unknown): boolean {
  return ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
}

/** Rejects unless the status is 200: with EngineReplaced for 403, otherwise with the EngineRefusal in the body. */
export async function checkStatus(status: number, body: Readable): Promise<void> {
  if (status === 200) return;
  if (status === 403) {
    body.resume();
    throw new EngineReplaced('Another query engine listens at that address by now.');
  }
  const { type, message } = (await json(body)) as { readonly type: string; readonly message: string };
  throw new EngineRefusal(type, message);
}

/**
 * Converts an error of a request to EngineReplaced or EngineGone. Returns refusals and errors after an abort as they
 * are.
 */
export function problemOf(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof EngineRefusal || error instanceof EngineGone || signal.aborted) return error;
  if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED')
    return new EngineReplaced('The query engine has ended.', { cause: error });
  return new EngineGone('The query engine ended while it answered.', { cause: error });
}

/** Limits connecting, because a machine that is down does not answer. */
function limitConnecting(socket: Socket): void {
  if (!socket.connecting) return;
  const late = setTimeout(() => socket.destroy(new Error('the query engine cannot be reached')), connectMs);
  for (const event of ['connect', 'close']) socket.once(event, () => clearTimeout(late));
}
