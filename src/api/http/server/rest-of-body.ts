/**
 * Reads and drops the rest of a body after the answer to its request. A handler need not read a body to its end, even
 * if it refuses nothing, and many clients read the answer only once they have sent the whole body. So the rest is read
 * and dropped, within limits (docs/decisions/0067).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isGivenUp } from '../bodies/request-body.ts';

/** Limits of reading the rest of a body. */
const linger = {
  /** Time without a byte from the client, in milliseconds. */
  idleMs: 2_000,
  /** Total time, in milliseconds. */
  totalMs: 30_000,
  bytes: 256 * 1024 * 1024,
  checkMs: 250,
} as const;

/** A response of Node's HTTP server. `_last`: Node closes the connection as soon as the response is sent. */
export type HttpResponse = ServerResponse & { _last?: boolean };

/**
 * Call it before a request with a body is handled. After the answer it reads and drops the rest of the body, within
 * limits. If the body exceeds them, or the answer was the last one, it then cuts the connection. (To close the
 * connection at once would reset it, and the client might never see the answer.)
 */
export function dropRestOfBody(raw: IncomingMessage, response: HttpResponse): void {
  response.prependOnceListener('finish', () => {
    if (raw.complete) return;
    const closes = response._last === true && !isGivenUp(raw);
    if (closes) response._last = false;
    // A reader that was abandoned while it waited would keep the rest from flowing.
    if (raw.listenerCount('readable') > 0) raw.removeAllListeners('readable');
    raw.resume();
    drop(raw, closes);
  });
}

/**
 * Waits until the rest of a body has arrived, or exceeds the limits. `closes`: whether the connection then closes in
 * any case.
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
