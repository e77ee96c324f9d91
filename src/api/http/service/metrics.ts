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
  summary: 'What the process measures',
  description: 'In the text format of Prometheus. It is on a port of its own if the service was told so.',
  answers: {
    200: {
      description: 'The measurements.',
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
 * Serves `/metrics` and the probes, and nothing else, on their own port, where no limit of a client address holds.
 * Resolves to a function that closes it; rejects when it cannot listen.
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
  log.info({ port: (app.server.address() as AddressInfo).port }, 'metrics are served on a port of their own');
  return async () => {
    await app.close();
  };
}
