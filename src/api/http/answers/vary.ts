import type { FastifyReply } from 'fastify';

/** Adds names of request headers to `Vary`, each once. */
export function varyBy(reply: FastifyReply, ...names: readonly string[]): FastifyReply {
  const named = String(reply.getHeader('vary') ?? '')
    .split(', ')
    .filter((name) => name !== '');
  return reply.header('vary', [...new Set([...named, ...names])].join(', '));
}
