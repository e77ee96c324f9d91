import type { FastifyRequest } from 'fastify';
import type { Origin } from '../../../administration/audit/refused-tokens.ts';

/** Where a request comes from: the address of the connection, and what `X-Forwarded-For` claims. */
export function originOf({ raw: { socket, headers } }: FastifyRequest): Origin {
  const claim = headers['x-forwarded-for'];
  return { address: socket.remoteAddress, forwardedFor: Array.isArray(claim) ? claim.join(', ') : claim };
}
