/** `/counter`: the counter of the team that asks. */
import { z } from 'zod';
import { jsonContent, type Operation } from '../../../src/api/http/openapi/operation.ts';
import type { App } from '../../../src/api/http/server/app-type.ts';
import { identify } from '../../../src/api/http/submit/request-identity.ts';
import type { Submitter } from '../../../src/api/http/submit/submitter.ts';
import type { CounterQueries } from './counters.store.ts';

const get: Operation = {
  operationId: 'getCounter',
  tag: 'Team',
  summary: 'Get the counter',
  description: 'How far the team has counted.',
  answers: {
    200: {
      description: 'The counter.',
      body: jsonContent(z.strictObject({ data: z.strictObject({ count: z.int().min(0) }) }), {
        'at two': { data: { count: 2 } },
      }),
    },
  },
};

const raise: Operation = {
  operationId: 'raiseCounter',
  tag: 'Team',
  summary: 'Raise the counter',
  description: 'Raises it, unless it would be above its limit.',
  answers: { 204: { description: 'The counter is raised.' } },
  errors: ['limit_exceeded'],
};

const raiseQuery = z.strictObject({
  by: z
    .string()
    .regex(/^[1-9]$/, 'must be a digit from 1 to 9')
    .transform(Number)
    .meta({ description: 'By how much.', jsonSchema: { type: 'integer', minimum: 1, maximum: 9 } }),
});

export interface CounterRouteDependencies {
  readonly submitter: Submitter;
  readonly counters: CounterQueries;
  readonly countMax: number;
}

export function addCounterRoutes(app: App, { submitter, counters, countMax }: CounterRouteDependencies): void {
  app.get('/counter', { config: { operation: get } }, async (request) => ({
    data: { count: await counters.count(request.principal.teamId) },
  }));

  app.post(
    '/counter',
    { schema: { querystring: raiseQuery }, config: { operation: raise } },
    async (request, reply) => {
      const { teamId } = request.principal;
      const { by } = request.query;
      await submitter.submit(teamId, identify(request), { type: 'CounterRaiseRequested', teamId, by, countMax });
      return reply.code(204).send();
    },
  );
}
