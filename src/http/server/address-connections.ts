/** Bounds the connections of a server, in all and by the address of the client. Where there are too many, an idle one makes room for a new one. */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../limits/network-of.ts';

/** `_httpMessage`: its current response. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

/**
 * An address beyond `eachMax` loses its oldest idle connection. Beyond `max` in all, the address that holds most does. A new connection is closed if there is no
 * idle one. Idle is one without a request under way.
 */
export function limitConnections(server: Server, { max, eachMax }: { readonly max: number; readonly eachMax: number }): void {
  /** The connections of each address, the oldest first. */
  const held = new Map<string, Set<HttpSocket>>();
  let count = 0;
  server.on('connection', (socket: HttpSocket) => {
    const address = networkOf(socket.remoteAddress);
    const own = held.get(address) ?? new Set();
    const isFull = count >= max;
    if (isFull || own.size >= eachMax) {
      const crowd = own.size >= eachMax ? own : largestOf(held);
      const idle = [...crowd].find((other) => !other._httpMessage && !other.destroyed);
      if (idle === undefined) {
        socket.destroy();
        return;
      }
      remove(idle);
      idle.destroy();
    }
    own.add(socket);
    held.set(address, own);
    count += 1;
    socket.once('close', () => remove(socket, address));
  });

  function remove(socket: HttpSocket, address = networkOf(socket.remoteAddress)): void {
    const own = held.get(address);
    if (own?.delete(socket) !== true) return;
    count -= 1;
    if (own.size === 0) held.delete(address);
  }
}

function largestOf(held: ReadonlyMap<string, ReadonlySet<HttpSocket>>): ReadonlySet<HttpSocket> {
  let largest: ReadonlySet<HttpSocket> = new Set();
  for (const own of held.values()) if (own.size > largest.size) largest = own;
  return largest;
}
