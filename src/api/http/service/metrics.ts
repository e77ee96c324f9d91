import type { AddressInfo } from 'node:net';
import fastify, { type FastifyBaseLogger, type RouteOptions } from 'fastify';
import type { App } from '../server/app-type.ts';
import { serviceOperations } from './service-operations.ts';
import { addHealthRoutes, type CheckHealth } from './health.ts';

/** The metrics of the service, as text. */
export interface Scraped {
  readonly contentType: string;
  scrape(): Promise<string>;
}

/** `/metrics`: the metrics of the service, in the text format of Prometheus. */
export function metricsRoute(metrics: Scraped): RouteOptions {
  return {
    method: 'GET',
    url: '/metrics',
    config: { public: true, operation: serviceOperations.metrics },
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
