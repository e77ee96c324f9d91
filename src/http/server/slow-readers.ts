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

/** Watches all connections of a server until it closes. */
export function cutOffSlowReaders(server: Server, { bytesPerSecond, windowMs }: ReadingFloor): void {
  /** How many bytes each client had taken when it was last seen with an answer waiting. */
  const seen = new Map<WritingSocket, number>();
  const sockets = new Set<WritingSocket>();
  const check = setInterval(() => {
    for (const socket of sockets) {
      const waiting = socket._handle?.writeQueueSize ?? 0;
      const taken = socket._bytesDispatched - waiting;
      const before = seen.get(socket);
      if (waiting === 0) seen.delete(socket);
      else if (before !== undefined && taken - before < bytesPerSecond * windowMs / 1000) socket.destroy();
      else seen.set(socket, taken);
    }
  }, windowMs).unref();
  server.on('connection', (socket: WritingSocket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      seen.delete(socket);
    });
  });
  server.once('close', () => clearInterval(check));
}
