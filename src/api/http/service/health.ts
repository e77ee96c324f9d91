import { z } from 'zod';
import { replyWithError } from '../answers/error-reply.ts';
import type { App } from '../server/app-type.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';

/** The state of the service, with one sentence for each problem. */
export interface Health {
  /** Why the service cannot serve requests. */
  readonly notReady: readonly string[];
  /** Problems that exist although the service serves requests. */
  readonly problems: readonly string[];
}

export type CheckHealth = () => Health | Promise<Health>;

/** The health of a process that is stopping. */
export const stopping: Health = { notReady: ['The service is stopping.'], problems: [] };

const ok = { data: { status: 'ok' } };
const degraded = { data: { status: 'degraded', problems: ['Partition 3 has halted.'] } };

const livenessOperation: Operation = {
  operationId: 'getLiveness',
  tag: 'Service',
  summary: 'Check that the process is running',
  description: 'The process is running if it answers.',
  answers: {
    200: {
      description: 'The process is running.',
      body: jsonContent(z.strictObject({ data: z.strictObject({ status: z.literal('ok') }) }), { ok }),
    },
  },
};

const readinessOperation: Operation = {
  operationId: 'getReadiness',
  tag: 'Service',
  summary: 'Check that the process accepts requests',
  description: 'If it does not, the message of the 503 says why.',
  answers: {
    200: {
      description: 'The process accepts requests. If it is degraded, some of them fail.',
      body: jsonContent(
        z.strictObject({
          data: z.union([
            z.strictObject({ status: z.literal('ok') }),
            z.strictObject({ status: z.literal('degraded'), problems: z.array(z.string()) }),
          ]),
        }),
        { ok, degraded },
      ),
    },
  },
  errors: ['service_unavailable'],
};

/** `/livez`: 200 while the process runs. `/readyz`: 200 while it serves requests, otherwise 503 with the reasons. */
export function addHealthRoutes(app: App, checkHealth: CheckHealth): void {
  const method = ['GET', 'HEAD'];
  app.route({ method, url: '/livez', config: { public: true, operation: livenessOperation }, handler: () => ok });
  app.route({
    method,
    url: '/readyz',
    config: { public: true, operation: readinessOperation },
    handler: async (_request, reply) => {
      const { notReady, problems } = await checkHealth();
      if (notReady.length > 0)
        return replyWithError(reply, 'service_unavailable', [...notReady, ...problems].join(' '));
      return problems.length === 0 ? ok : { data: { status: 'degraded', problems } };
    },
  });
}
