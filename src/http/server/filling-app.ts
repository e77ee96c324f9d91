/** What a process answers while it fills its read model: health and metrics. All else is 503. */
import fastify, { type FastifyBaseLogger, type RouteOptions } from 'fastify';
import { replyWithError } from '../answers/error-reply.ts';
import { addHealthRoutes } from '../routes/health.ts';
import type { App } from './app-type.ts';

/** `describe`: a sentence that says how far it is. `routes`: what is served besides. */
export function buildFillingApp(describe: () => string, routes: readonly RouteOptions[], log: FastifyBaseLogger): App {
  const app = fastify({ loggerInstance: log, disableRequestLogging: true }) as unknown as App;
  // Before a body is read.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) replyWithError(reply, 'service_unavailable', describe());
    else done();
  });
  addHealthRoutes(app, () => ({ notReady: [describe()], problems: [] }));
  for (const route of routes) app.route(route);
  return app;
}
