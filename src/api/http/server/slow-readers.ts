/** Cuts off clients that read an answer so slowly that it would stay in memory for a long time. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';

export interface ReadingFloor {
  /** Minimum rate at which a client must read a waiting answer, in bytes a second. */
  readonly bytesPerSecond: number;
  /** Window over which the rate is measured, in milliseconds. */
  readonly windowMs: number;
}

/** A socket with Node's own fields. They show progress within one large write. */
type WritingSocket = Socket & {
  readonly _handle: { readonly writeQueueSize: number } | null;
  /** Bytes that the operating system has taken, or that wait in the queue of the handle. */
  readonly _bytesDispatched: number;
};

/** The start of the current window of a waiting answer, and how many bytes the client had taken by then. */
interface Window {
  readonly since: number;
  readonly taken: number;
}

/** How many times each connection is checked in a window. */
const looksInWindow = 30;

/** The windows of clients for whom an answer waits. */
const windows = new WeakMap<Socket, Window>();

/**
 * Whether an answer has waited for its client for at least `ms`, and the client has read it at less than
 * `bytesPerSecond` since then.
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
