import { z } from 'zod';
import { replyWithError } from '../answers/error-reply.ts';
import type { App } from '../server/app-type.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';

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

const ok = { data: { status: 'ok' } };
const degraded = { data: { status: 'degraded', problems: ['Partition 3 has halted.'] } };

const livenessOperation: Operation = {
  operationId: 'getLiveness',
  tag: 'Service',
  summary: 'Whether the process runs',
  description: 'It does if it answers.',
  answers: {
    200: {
      description: 'It runs.',
      body: jsonContent(z.strictObject({ data: z.strictObject({ status: z.literal('ok') }) }), { ok }),
    },
  },
};

const readinessOperation: Operation = {
  operationId: 'getReadiness',
  tag: 'Service',
  summary: 'Whether the process takes requests',
  description: 'The message of 503 says why it does not.',
  answers: {
    200: {
      description: 'It takes requests. If it is degraded, some of them fail.',
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

/** `/livez`: the process runs. `/readyz`: it serves requests; 503 with the reasons if not. */
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
