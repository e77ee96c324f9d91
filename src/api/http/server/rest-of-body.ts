/**
 * What is left of a body when its request has been answered, also if nothing was refused: a handler need not read to
 * the end. Many clients read the answer only once they have sent all of the body, so the rest is read and dropped,
 * within bounds (docs/decisions/0067).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isGivenUp } from '../bodies/request-body.ts';

/** How far the rest of a body is read. */
const linger = {
  /** Without a byte from the client, in milliseconds. */
  idleMs: 2_000,
  /** In all, in milliseconds. */
  totalMs: 30_000,
  bytes: 256 * 1024 * 1024,
  checkMs: 250,
} as const;

/** A response of Node's HTTP server. Node closes the connection as soon as the last one is sent. */
export type HttpResponse = ServerResponse & { _last?: boolean };

/**
 * To be called before a request with a body is handled. After it has been answered, reads and drops the rest of the
 * body, within bounds; then cuts the connection if the body goes on, or the answer was the last one. (Closing the
 * connection at once would reset it, and the client might never see the answer.)
 */
export function dropRestOfBody(raw: IncomingMessage, response: HttpResponse): void {
  response.prependOnceListener('finish', () => {
    if (raw.complete) return;
    const closes = response._last === true && !isGivenUp(raw);
    if (closes) response._last = false;
    // A reader that was given up in the middle of a wait would keep the rest from flowing.
    if (raw.listenerCount('readable') > 0) raw.removeAllListeners('readable');
    raw.resume();
    drop(raw, closes);
  });
}

/**
 * Waits until the rest of a body has come, or enough of it. `closes`: whether the connection is closed then in any
 * case.
 */
function drop(raw: IncomingMessage, closes: boolean): void {
  const { socket } = raw;
  const [since, before] = [performance.now(), socket.bytesRead];
  let [lastAt, last] = [since, before];
  const timer = setInterval(() => {
    const now = performance.now();
    const read = socket.bytesRead;
    if (read > last) [lastAt, last] = [now, read];
    if (now - lastAt >= linger.idleMs || now - since >= linger.totalMs || read - before > linger.bytes) raw.destroy();
  }, linger.checkMs).unref();
  raw.once('close', () => {
    clearInterval(timer);
    if (closes) socket.destroySoon();
  });
}
