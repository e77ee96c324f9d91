import type { AddressInfo } from 'node:net';
import fastify, { type FastifyBaseLogger, type RouteOptions } from 'fastify';
import { serviceOperations } from '../openapi/operations/service.ts';

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

/** Serves `/metrics`, and nothing else, on its own port. Resolves to a function that closes it; rejects when it cannot listen. */
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
