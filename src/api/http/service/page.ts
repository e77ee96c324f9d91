/** Pages for browsers. */
import { randomBytes } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import type { Answer, Contents } from '../openapi/operation.ts';

/** The answer of an operation with a page. */
export const pageAnswer: Answer = {
  description: 'The page.',
  body: { 'text/html': { schema: z.string(), examples: { 'its beginning': '<!doctype html>' } } },
};

/** Files that pages load. */
export const fileContents: Contents = {
  'text/css': { schema: z.string(), examples: { styles: 'body { margin: 0 }' } },
  'text/javascript': { schema: z.string(), examples: { script: 'start();' } },
};

/** Sends a page with its Content-Security-Policy. Both contain a nonce, which is new for each answer. */
export function sendPage(
  reply: FastifyReply,
  policyOf: (nonce: string) => string,
  pageOf: (nonce: string) => string,
): FastifyReply {
  const nonce = randomBytes(16).toString('base64');
  return reply
    .headers({
      'content-security-policy': policyOf(nonce),
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
    .type('text/html; charset=utf-8')
    .send(pageOf(nonce));
}
