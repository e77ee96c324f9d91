import type { AddressInfo } from 'node:net';
import fastify, { type FastifyBaseLogger, type RouteOptions } from 'fastify';
import { z } from 'zod';
import type { App } from '../server/app-type.ts';
import type { Operation } from '../openapi/operation.ts';
import { addHealthRoutes, type CheckHealth } from './health.ts';

/** The metrics of the service, as text. */
export interface Scraped {
  readonly contentType: string;
  scrape(): Promise<string>;
}

const operation: Operation = {
  operationId: 'getMetrics',
  tag: 'Service',
  summary: 'Get the metrics of the process',
  description: 'The metrics in the text format of Prometheus. A setting can move them to a port of their own.',
  answers: {
    200: {
      description: 'The metrics.',
      body: { 'text/plain': { schema: z.string(), examples: { one: 'tablog_postgres_reachable 1\n' } } },
    },
  },
};

/** `/metrics`: the metrics of the service, in the text format of Prometheus. */
export function metricsRoute(metrics: Scraped): RouteOptions {
  return {
    method: 'GET',
    url: '/metrics',
    config: { public: true, operation },
    handler: async (_request, reply) => reply.type(metrics.contentType).send(await metrics.scrape()),
  };
}

/**
 * Serves only `/metrics` and the probes on a separate port, without limits per client address. Resolves with a function
 * that closes the port. Rejects if it cannot listen.
 */
export async function serveMetrics(
  metrics: Scraped,
  checkHealth: CheckHealth,
  address: { readonly host: string; readonly port: number },
  log: FastifyBaseLogger,
): Promise<() => Promise<void>> {
  const app = fastify() as unknown as App;
  app.route(metricsRoute(metrics));
  addHealthRoutes(app, checkHealth);
  await app.listen(address);
  log.info({ port: (app.server.address() as AddressInfo).port }, 'serving metrics on a separate port');
  return async () => {
    await app.close();
  };
}
