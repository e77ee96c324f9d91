/** What a process answers while it fills its read model: health and metrics. All else is 503. */
import type { RouteOptions } from 'fastify';
import { replyWithError } from '../answers/error-reply.ts';
import { addHealthRoutes } from '../service/health.ts';
import type { App } from './app-type.ts';
import { buildBoundedApp, type BoundedAppOptions } from './bounded-app.ts';

interface FillingAppOptions extends Omit<BoundedAppOptions, 'activity'> {
  /** A sentence that says how far it is. */
  readonly describe: () => string;
  /** What is served besides. */
  readonly routes: readonly RouteOptions[];
}

/**
 * Builds the server, which has the limits of each client address that the one after it has. No token is looked up, so
 * every request counts as one without.
 */
export function buildFillingApp({ describe, routes, ...options }: FillingAppOptions): App {
  const { app } = buildBoundedApp({ ...options, activity: null });
  // Before a body is read.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) replyWithError(reply, 'service_unavailable', describe());
    else done();
  });
  addHealthRoutes(app, () => ({ notReady: [describe()], problems: [] }));
  for (const route of routes) app.route(route);
  return app;
}
