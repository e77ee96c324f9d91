/**
 * Handles requests that a client sends before it has read its answers. They are handled one after the other, each once
 * the previous answer has left the process. Meanwhile nothing more is read from the connection, so that unread answers
 * do not pile up in memory. After an answer with `Connection: close` no request is handled (RFC 9112, 9.6): the client
 * assumes that these were not handled, and may send them again.
 */
import type { Socket } from 'node:net';
import type { HttpResponse } from './rest-of-body.ts';

/**
 * Maximum of requests of a connection that wait for their turn. They may arrive in one packet. A client that sends more
 * is disconnected.
 */
const waitingMax = 100;

/** `_paused` is Node's own field: the connection has more to write than Node wants to buffer. */
type HttpSocket = Socket & { readonly _paused?: boolean };

interface Line {
  isBusy: boolean;
  /** Whether an answer was the connection's last. */
  hasEnded: boolean;
  readonly waiting: (() => void)[];
}

const lines = new WeakMap<Socket, Line>();

/**
 * Calls `handle` when the earlier requests of the connection are answered. Calls `onDropped` with the number of
 * requests that are never handled.
 */
export function inTurn(
  socket: HttpSocket,
  response: HttpResponse,
  handle: () => void,
  onDropped: (socket: Socket, requests: number) => void,
): void {
  const line = lines.get(socket) ?? begin(socket, onDropped);
  if (line.hasEnded) {
    onDropped(socket, 1);
    return;
  }
  const run = (): void => {
    line.isBusy = true;
    response.once('close', () => {
      line.isBusy = false;
      if (line.hasEnded || !socket.writable || line.waiting.length === 0) return;
      line.waiting.shift()!();
      if (line.waiting.length === 0 && socket._paused !== true) socket.resume();
    });
    handle();
    // Runs before the listener of rest-of-body.ts, which makes Node forget that the answer is the last one.
    response.prependOnceListener('finish', () => {
      line.hasEnded = response._last === true;
    });
  };
  if (!line.isBusy) {
    run();
    return;
  }
  if (line.waiting.length >= waitingMax) {
    socket.destroy();
    onDropped(socket, 1);
    return;
  }
  line.waiting.push(run);
  socket.pause();
}

function begin(socket: Socket, onDropped: (socket: Socket, requests: number) => void): Line {
  const line: Line = { isBusy: false, hasEnded: false, waiting: [] };
  lines.set(socket, line);
  socket.once('close', () => {
    if (line.waiting.length > 0) onDropped(socket, line.waiting.length);
  });
  return line;
}
