/**
 * Places limit how many bodies are read at once (docs/reference/limits.md, `bodies`). A body takes a place once it is
 * whole, or once its first 64 KiB have arrived.
 */
import type { FastifyRequest } from 'fastify';
import type { FairShares, Share } from '../limits/fair-shares.ts';
import { whileOthersWait } from '../limits/slow-clients.ts';
import { paceOf, timeoutOf } from './body-pace.ts';
import { collectBody, failBody, untilArrived } from './request-body.ts';

/**
 * Takes a place for the body of a request, once it is whole or its first 64 KiB have arrived. While another team waits
 * for a place, a body that arrives slowly fails. Rejects as `FairShares.take` and `collectBody` do.
 */
export async function takePlace(bodies: FairShares, request: FastifyRequest, maxBytes: number): Promise<Share> {
  const {
    raw,
    principal: { teamId },
  } = request;
  await untilArrived(request, maxBytes);
  const share = await bodies.take(teamId, 1);
  const pace = paceOf(raw);
  if (pace !== undefined) {
    const { bytesPerSecond, ms } = whileOthersWait;
    share.mayBeEnded({
      isSlow: () => pace.isSlowerThan(bytesPerSecond, ms),
      end: () =>
        failBody(
          raw,
          timeoutOf(
            `Other teams wait to send bodies, and this one arrives too slowly: at less than ${bytesPerSecond} bytes a second.`,
          ),
        ),
    });
  }
  return share;
}

/** The whole body, read while holding a place. Rejects as `takePlace` and `collectBody` do. */
export async function collectInPlace(bodies: FairShares, request: FastifyRequest, maxBytes: number): Promise<Buffer> {
  const place = await takePlace(bodies, request, maxBytes);
  try {
    return await collectBody(request, maxBytes);
  } finally {
    place.release();
  }
}
