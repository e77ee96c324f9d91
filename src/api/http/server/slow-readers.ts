/** Cuts off clients that read an answer so slowly that it would stay in memory for long. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface ReadingFloor {
  /** The least that a client must read of a waiting answer, in bytes a second. */
  readonly bytesPerSecond: number;
  /** Over how long that is measured, in milliseconds. */
  readonly windowMs: number;
}

/** Node's own fields, by which its idle timeout sees progress within one large write. */
type WritingSocket = Socket & {
  readonly _handle: { readonly writeQueueSize: number } | null;
  /** Bytes that were given to the operating system, or wait in the queue of the handle. */
  readonly _bytesDispatched: number;
};

/**
 * When an answer was first seen waiting for its client in this window, and how many bytes the client had taken then.
 */
interface Window {
  readonly since: number;
  readonly taken: number;
}

/** How often each connection is looked at in a window. */
const looksInWindow = 30;

/** The windows of clients with an answer waiting. */
const windows = new WeakMap<Socket, Window>();

/**
 * Whether an answer has waited for its client for at least so long, in milliseconds, and the client took less than this
 * meanwhile.
 */
export function readsSlowerThan(socket: Socket, bytesPerSecond: number, ms: number): boolean {
  const window = windows.get(socket);
  if (window === undefined) return false;
  const elapsed = performance.now() - window.since;
  return elapsed >= ms && (takenOf(socket as WritingSocket) - window.taken) * 1000 < bytesPerSecond * elapsed;
}

/** Watches all connections of a server until it closes. */
export function cutOffSlowReaders(server: Server, { bytesPerSecond, windowMs }: ReadingFloor): void {
  const sockets = new Set<WritingSocket>();
  const check = setInterval(() => {
    const now = performance.now();
    for (const socket of sockets) {
      const window = windows.get(socket);
      const taken = takenOf(socket);
      if (waitingOf(socket) === 0) windows.delete(socket);
      else if (window === undefined) windows.set(socket, { since: now, taken });
      else if (now - window.since < windowMs) continue;
      else if (taken - window.taken < (bytesPerSecond * windowMs) / 1000) socket.destroy();
      else windows.set(socket, { since: now, taken });
    }
  }, windowMs / looksInWindow).unref();
  server.on('connection', (socket: WritingSocket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.once('close', () => clearInterval(check));
}

function waitingOf(socket: WritingSocket): number {
  return socket._handle?.writeQueueSize ?? 0;
}

function takenOf(socket: WritingSocket): number {
  return socket._bytesDispatched - waitingOf(socket);
}
