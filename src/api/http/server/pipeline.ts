/**
 * Requests that a client sends before it has read its answers. They are handled one after the other, each once the
 * answer before it has left the process, and nothing more is read from the connection meanwhile: so unread answers do
 * not pile up in memory.
 */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * How many requests of a connection wait for their turn at most: they may come in one packet. A client that sends more
 * is disconnected.
 */
const waitingMax = 100;

/** `_paused` is Node's own: the connection has more to write than Node wants to keep. */
type HttpSocket = Socket & { readonly _paused?: boolean };

interface Line {
  isBusy: boolean;
  readonly waiting: (() => void)[];
}

const lines = new WeakMap<Socket, Line>();

/**
 * Calls `handle` when the earlier requests of the connection are answered. `onDropped` is called with how many requests
 * never are handled.
 */
export function inTurn(
  socket: HttpSocket,
  response: ServerResponse,
  handle: () => void,
  onDropped: (socket: Socket, requests: number) => void,
): void {
  const line = lines.get(socket) ?? begin(socket, onDropped);
  const run = (): void => {
    line.isBusy = true;
    response.once('close', () => {
      line.isBusy = false;
      // An answer that ends the connection ends it for those that wait, too: they have not been handled, so the client
      // may ask again.
      if (!socket.writable || line.waiting.length === 0) return;
      line.waiting.shift()!();
      if (line.waiting.length === 0 && socket._paused !== true) socket.resume();
    });
    handle();
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
  const line: Line = { isBusy: false, waiting: [] };
  lines.set(socket, line);
  socket.once('close', () => {
    if (line.waiting.length > 0) onDropped(socket, line.waiting.length);
  });
  return line;
}
