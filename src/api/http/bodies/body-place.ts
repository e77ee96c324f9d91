/**
 * The places of bodies that are read (docs/reference/limits.md, `bodies`). A body takes one when it has arrived, or
 * when its first part has.
 */
import type { FastifyRequest } from 'fastify';
import type { FairShares, Share } from '../limits/fair-shares.ts';
import { whileOthersWait } from '../limits/slow-clients.ts';
import { paceOf, timeoutOf } from './body-pace.ts';
import { collectBody, failBody, untilArrived } from './request-body.ts';

/**
 * Takes a place for the body of a request, once it is whole or 64 KiB of it have come. While other teams find no place,
 * a body that comes slowly fails. Rejects as `FairShares.take` and `collectBody` do.
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
            `Other teams find no place to send bodies, and this one arrives at less than ${bytesPerSecond} bytes a second.`,
          ),
        ),
    });
  }
  return share;
}

/** The whole body, read within a place. Rejects as `takePlace` and `collectBody` do. */
export async function collectInPlace(bodies: FairShares, request: FastifyRequest, maxBytes: number): Promise<Buffer> {
  const place = await takePlace(bodies, request, maxBytes);
  try {
    return await collectBody(request, maxBytes);
  } finally {
    place.release();
  }
}
