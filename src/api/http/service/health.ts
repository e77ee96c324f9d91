import { replyWithError } from '../answers/error-reply.ts';
import type { App } from '../server/app-type.ts';
import { serviceOperations } from './service-operations.ts';

/** The state of the service, a sentence for each problem. */
export interface Health {
  /** Why it cannot serve requests. */
  readonly notReady: readonly string[];
  /** What fails although it serves requests. */
  readonly problems: readonly string[];
}

export type CheckHealth = () => Health | Promise<Health>;

/** The health of a process that stops. */
export const stopping: Health = { notReady: ['The service is stopping.'], problems: [] };

/** `/livez`: the process runs. `/readyz`: it serves requests; 503 with the reasons if not. */
export function addHealthRoutes(app: App, checkHealth: CheckHealth): void {
  const ok = { data: { status: 'ok' } };
  const method = ['GET', 'HEAD'];
  app.route({ method, url: '/livez', config: { public: true, operation: serviceOperations.live }, handler: () => ok });
  app.route({
    method,
    url: '/readyz',
    config: { public: true, operation: serviceOperations.ready },
    handler: async (_request, reply) => {
      const { notReady, problems } = await checkHealth();
      if (notReady.length > 0)
        return replyWithError(reply, 'service_unavailable', [...notReady, ...problems].join(' '));
      return problems.length === 0 ? ok : { data: { status: 'degraded', problems } };
    },
  });
}
