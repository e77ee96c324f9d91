import type { FastifyRequest } from 'fastify';
import type { Origin } from '../../../administration/audit/refused-tokens.ts';

/** The origin of a request: the address of the connection, and the unverified `X-Forwarded-For`. */
export function originOf({ raw: { socket, headers } }: FastifyRequest): Origin {
  const claim = headers['x-forwarded-for'];
  return { address: socket.remoteAddress, forwardedFor: Array.isArray(claim) ? claim.join(', ') : claim };
}
