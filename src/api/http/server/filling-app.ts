/** The server of a process that fills its read model. It serves health and metrics; all other requests get 503. */
import type { RouteOptions } from 'fastify';
import { replyWithError } from '../answers/error-reply.ts';
import { addHealthRoutes } from '../service/health.ts';
import type { App } from './app-type.ts';
import { buildBoundedApp, type BoundedAppOptions } from './bounded-app.ts';

interface FillingAppOptions extends Omit<BoundedAppOptions, 'activity'> {
  /** A sentence that says how far the fill is. */
  readonly describe: () => string;
  /** Routes to serve besides health. */
  readonly routes: readonly RouteOptions[];
}

/**
 * Builds the server. It has the same limits per client address as the server that follows it. No token is looked up, so
 * every request counts as one without a token.
 */
export function buildFillingApp({ describe, routes, ...options }: FillingAppOptions): App {
  const { app } = buildBoundedApp({ ...options, activity: null });
  // Answers before a body is read.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) replyWithError(reply, 'service_unavailable', describe());
    else done();
  });
  addHealthRoutes(app, () => ({ notReady: [describe()], problems: [] }));
  for (const route of routes) app.route(route);
  return app;
}
