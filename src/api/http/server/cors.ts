/** CORS: which origins may send requests, and which headers of answers their scripts may read. */
import cors, { type FastifyCorsOptions } from '@fastify/cors';
import type { FastifyRequest } from 'fastify';
import type { AddressLimit } from '../limits/address-limit.ts';
import { responseHeaders, type DescribedHeader } from '../openapi/headers.ts';
import type { App } from './app-type.ts';

/** How long browsers may cache the answer to a preflight, in seconds: the maximum that all of them accept. */
const preflightSeconds = 7200;

/**
 * Allows requests from pages of these origins, or of any origin. Preflights have no token, so they are limited by the
 * address of the client.
 */
export function allowOrigins(app: App, origins: '*' | readonly string[], preflightLimit: AddressLimit | null): void {
  const allowed: FastifyCorsOptions = {
    origin: origins === '*' ? '*' : [...origins],
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: namesOfHeaders(),
    maxAge: preflightSeconds,
  };
  void app.register(cors, {
    delegator: (request, done) => {
      const refusal = isPreflight(request) ? preflightLimit?.count(request) : null;
      if (!isPreflight(request)) done(null, { ...allowed, preflight: false });
      else if (refusal) refusal.then(done, done);
      else done(null, allowed);
    },
  });
}

/** Other OPTIONS requests get the answer for a method that the path does not have. */
function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined;
}

function namesOfHeaders(): string[] {
  return [
    ...new Set(Object.entries(responseHeaders).map(([name, { header = name }]: [string, DescribedHeader]) => header)),
  ];
}
