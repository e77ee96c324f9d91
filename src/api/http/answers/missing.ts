import type { FastifyReply } from 'fastify';
import { replyWithError } from './error-reply.ts';

const messages = {
  table_not_found: 'There is no such table.',
  row_not_found: 'There is no such row.',
  payment_required: 'The team is suspended.',
  continuation_expired: 'query.continuation: the rows were replaced too long ago. Begin again with the first page.',
} as const;

/** Answers that the requested resource does not exist, or is not available. */
export function replyMissing(reply: FastifyReply, type: keyof typeof messages): FastifyReply {
  return replyWithError(reply, type, messages[type]);
}
