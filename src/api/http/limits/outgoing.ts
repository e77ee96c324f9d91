import type { FastifyReply } from 'fastify';
import { ClientGone } from '../bodies/request-body.ts';
import { readsSlowerThan } from '../server/slow-readers.ts';
import type { FairShares, Share } from './fair-shares.ts';
import { whileOthersWait } from './slow-clients.ts';

/**
 * Takes bytes of the outgoing share for an answer to a team or client address, until its response is closed: sent or
 * cut off. Rejects as `FairShares.take` does, and with ClientGone if the client has disconnected while it waited. While
 * other teams wait for bytes, a client that reads slowly is cut off.
 */
export async function takeOutgoing(
  outgoingBytes: FairShares,
  holder: string,
  bytes: number,
  reply: FastifyReply,
): Promise<Share> {
  const share = await outgoingBytes.take(holder, bytes);
  const { raw } = reply;
  const { socket } = reply.request.raw;
  const release = (): void => {
    raw.off('close', release);
    socket.off('close', release);
    share.release();
  };
  if (raw.closed || socket.destroyed) {
    release();
    throw new ClientGone('there was room for its answer');
  }
  share.mayBeEnded({
    isSlow: () => readsSlowerThan(socket, whileOthersWait.bytesPerSecond, whileOthersWait.ms),
    end: () => void socket.destroy(),
  });
  raw.once('close', release);
  // A response that waits behind another one on its connection gets no `close` when the connection closes.
  socket.once('close', release);
  return share;
}
