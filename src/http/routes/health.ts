import { replyWithError } from '../error-reply.ts';
import type { App } from '../app.ts';

/** Why the service cannot take requests now, one sentence each; none when it can. */
export type NotReady = () => readonly string[] | Promise<readonly string[]>;

/** `/livez`: the process runs. `/readyz`: it takes requests. */
export function addHealthRoutes(app: App, notReady: NotReady): void {
  const config = { public: true };
  const ok = { data: { status: 'ok' } };
  app.route({ method: ['GET', 'HEAD'], url: '/livez', config, handler: () => ok });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/readyz',
    config,
    handler: async (_request, reply) => {
      const reasons = await notReady();
      return reasons.length === 0 ? ok : replyWithError(reply, 'service_unavailable', reasons.join(' '));
    },
  });
}
