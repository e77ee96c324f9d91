import type { FastifyReply } from 'fastify';

/** Adds request headers that the answer depends on to those that are named already. */
export function varyBy(reply: FastifyReply, ...names: readonly string[]): FastifyReply {
  const named = String(reply.getHeader('vary') ?? '')
    .split(', ')
    .filter((name) => name !== '');
  return reply.header('vary', [...new Set([...named, ...names])].join(', '));
}
