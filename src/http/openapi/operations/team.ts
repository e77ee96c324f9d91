/** The operations of the routes about the team that asks, and its token. */
import { z } from 'zod';
import { planQuotas, type PlanQuota } from '../../../events/quota.ts';
import { teamLimitNames } from '../../server/request-observer.ts';
import { json, type Operation } from '../operation.ts';

const team = z.strictObject({ id: z.uuid().meta({ description: 'The ID of the team.' }), name: z.string() });
const exampleTeam = { id: '0199c2f0-11aa-7c3e-9d41-7f2b6a5c8e10', name: 'acme' };

const token: Operation = {
  operationId: 'getToken',
  tag: 'Team',
  summary: 'Get the token of the request',
  description: 'Which team it is of, and what it may do.',
  answers: {
    200: {
      description: 'The token.',
      body: json(z.strictObject({
        data: z.strictObject({
          id: z.uuid().meta({ description: 'The ID of the token.' }),
          name: z.string(),
          team,
          readOnly: z.boolean(),
          appID: z.string().nullable().meta({ description: 'The only app that it is for; null: all of the team.' }),
          expires: z.iso.datetime().nullable().meta({ description: 'From when on it is refused; null: never.' }),
        }),
      }), {
        'of the team': {
          data: { id: '0199c2f1-2bd4-7e55-8a6c-3d9e0f1a2b3c', name: 'first', team: exampleTeam, readOnly: false, appID: null, expires: null },
        },
        'of an app, for reading': {
          data: {
            id: '0199c2f1-2bd4-7e55-8a6c-3d9e0f1a2b3d', name: 'the shop', team: exampleTeam, readOnly: true, appID: 'shop', expires: '2027-02-20T03:38:00.000Z',
          },
        },
      }),
    },
  },
};

const quota = z.strictObject({
  used: z.int().min(0),
  max: z.int().min(0).nullable().meta({ description: 'Null: there is no limit.' }),
  setBy: z.enum(['plan', 'service']).nullable().meta({ description: 'The plan of the team, or else the service, for all teams; null: there is no limit.' }),
}).meta({ id: 'Quota' });

const rateLimit = z.strictObject({
  name: z.enum(teamLimitNames),
  max: z.int().min(0).meta({ description: 'The most units in a window: requests, rows written, bytes of bodies, or imports of stashes.' }),
  windowSeconds: z.int().min(0),
  left: z.int().min(0).meta({ description: 'How many units the process that answers has left.' }),
  resetSeconds: z.int().min(0).meta({ description: 'For how many more seconds.' }),
}).meta({ id: 'RateLimit' });

const exampleUse: Partial<Record<PlanQuota, object>> = {
  rows: { used: 120_400, max: 5_000_000, setBy: 'plan' }, tables: { used: 12, max: 10_000, setBy: 'service' },
};

const usage: Operation = {
  operationId: 'getUsage',
  tag: 'Team',
  isOfTeam: true,
  summary: 'Get what the team uses of its quotas',
  description: 'What the team uses of each quota, how much it may use, and what says so. `logBytesPerDay` are bytes of the log today (UTC), which other processes have '
    + 'counted up to some seconds ago. The rate limits are those of the process that answers; there are none unless the service was set so. Not for the token of an app.',
  answers: {
    200: {
      description: 'The use.',
      body: json(z.strictObject({
        data: z.strictObject({
          team,
          suspended: z.boolean(),
          quotas: z.strictObject(Object.fromEntries(planQuotas.map((name) => [name, quota])) as Record<PlanQuota, typeof quota>),
          rateLimits: z.array(rateLimit),
        }),
      }), {
        use: {
          data: {
            team: exampleTeam, suspended: false,
            quotas: Object.fromEntries(planQuotas.map((name) => [name, exampleUse[name] ?? { used: 0, max: null, setBy: null }])),
            rateLimits: [{ name: 'requests', max: 600, windowSeconds: 60, left: 590, resetSeconds: 42 }],
          },
        },
      }),
    },
  },
};

export const teamOperations = { token, usage };
