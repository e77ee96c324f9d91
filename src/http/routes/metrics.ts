import type { AddressInfo } from 'node:net';
import fastify, { type FastifyBaseLogger, type RouteOptions } from 'fastify';
import { serviceOperations } from '../openapi/operations/service.ts';

/** What the service measures, as text. */
export interface Scraped {
  readonly contentType: string;
  scrape(): Promise<string>;
}

/** `/metrics`: what the service measures, in the text format of Prometheus. */
export function metricsRoute(metrics: Scraped): RouteOptions {
  return {
    method: 'GET',
    url: '/metrics',
    config: { public: true, operation: serviceOperations.metrics },
    handler: async (_request, reply) => reply.type(metrics.contentType).send(await metrics.scrape()),
  };
}

/** Serves `/metrics` on a port of its own, and nothing else there. Gives what ends it; rejects when it cannot listen. */
export async function serveMetrics(
  metrics: Scraped,
  address: { readonly host: string; readonly port: number },
  log: FastifyBaseLogger,
): Promise<() => Promise<void>> {
  const app = fastify();
  app.route(metricsRoute(metrics));
  await app.listen(address);
  log.info({ port: (app.server.address() as AddressInfo).port }, 'metrics are served on a port of their own');
  return async () => {
    await app.close();
  };
}
