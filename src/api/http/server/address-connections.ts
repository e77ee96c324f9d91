/**
 * Limits the connections of a server: how many are open, in total and per client address, and how many new ones an
 * address opens in a window (docs/reference/rate-limits.md). If too many are open, a new connection replaces an idle
 * one.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../limits/network-of.ts';
import { RefilledLimit } from '../limits/refilled-limit.ts';
import type { RequestObserver } from './request-observer.ts';

/** `_httpMessage`: its current response. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null };

export interface ConnectionBounds {
  readonly max: number;
  /** Maximum of open connections of one address. */
  readonly eachMax: number;
  /** Maximum of new connections of one address in a window, without those that bring a valid token; 0: no limit. */
  readonly newMax: number;
  /** In milliseconds. */
  readonly windowMs: number;
  /** Whether the address belongs to a proxy that many clients share. Only `max` applies to it. */
  readonly isProxy: (address: string | undefined) => boolean;
  readonly observer: Pick<RequestObserver, 'connectionClosed'>;
}

/**
 * How long a connection beyond the limit of new ones is held before it is closed, in milliseconds. Without the delay
 * its client could take all the time of the process.
 */
const heldMs = 1000;
/** Maximum of connections that are held. Further ones are closed at once. */
const heldMax = 1000;

/** The limit from which each new connection has taken a unit. `acquit` gives the unit back. */
const takenBy = new WeakMap<Socket, { readonly limit: RefilledLimit; readonly network: string }>();

/**
 * Call it when a request with a valid token came on this connection. The connection then does not count towards the
 * limit of new ones.
 */
export function acquit(socket: Socket): void {
  const taken = takenBy.get(socket);
  if (taken === undefined) return;
  takenBy.delete(socket);
  taken.limit.count(taken.network, -1);
}

/** Counts requests on this connection that were read in vain, as if each had been a new connection. */
export function charge(socket: Socket, requests: number): void {
  const taken = takenBy.get(socket);
  taken?.limit.count(taken.network, requests);
}

/**
 * If an address has more than `eachMax` connections, its oldest idle one is closed. If there are more than `max` in
 * total, the address with most of them loses its oldest idle one. If there is no idle one, the new connection is
 * closed. A connection without a request in progress is idle.
 */
export function limitConnections(
  server: Server,
  { max, eachMax, newMax, windowMs, isProxy, observer }: ConnectionBounds,
): void {
  /** The connections of each address, the oldest first. */
  const openOf = new Map<string, Set<HttpSocket>>();
  const held = new Set<Socket>();
  const newOnes = newMax === 0 ? null : new RefilledLimit('connections', newMax, windowMs);
  let count = 0;
  server.on('connection', (socket: HttpSocket) => {
    const network = networkOf(socket.remoteAddress);
    const isShared = isProxy(socket.remoteAddress);
    if (!isShared && newOnes !== null) {
      if (newOnes.take(network) !== null) {
        observer.connectionClosed('new_of_address');
        hold(socket);
        return;
      }
      takenBy.set(socket, { limit: newOnes, network });
    }
    const own = openOf.get(network) ?? new Set();
    const ownAreTooMany = !isShared && own.size >= eachMax;
    if (ownAreTooMany || count >= max) {
      observer.connectionClosed(ownAreTooMany ? 'open_of_address' : 'open');
      const crowd = ownAreTooMany ? own : largestOf(openOf);
      const idle = [...crowd].find((other) => !other._httpMessage && !other.destroyed);
      if (idle === undefined) {
        socket.destroy();
        return;
      }
      remove(idle, networkOf(idle.remoteAddress));
      idle.destroy();
    }
    own.add(socket);
    openOf.set(network, own);
    count += 1;
    socket.once('close', () => remove(socket, network));
  });

  /** Closes the connection after a delay, and reads nothing from it. */
  function hold(socket: Socket): void {
    if (held.size >= heldMax || count + held.size >= max) {
      socket.destroy();
      return;
    }
    held.add(socket);
    // Only in the next tick: Node resumes a new connection in this one.
    process.nextTick(() => socket.pause());
    const timer = setTimeout(() => socket.destroy(), heldMs);
    socket.once('close', () => {
      clearTimeout(timer);
      held.delete(socket);
    });
  }

  function remove(socket: HttpSocket, network: string): void {
    const own = openOf.get(network);
    if (own?.delete(socket) !== true) return;
    count -= 1;
    if (own.size === 0) openOf.delete(network);
  }
}

function largestOf(openOf: ReadonlyMap<string, ReadonlySet<HttpSocket>>): ReadonlySet<HttpSocket> {
  let largest: ReadonlySet<HttpSocket> = new Set();
  for (const own of openOf.values()) if (own.size > largest.size) largest = own;
  return largest;
}
