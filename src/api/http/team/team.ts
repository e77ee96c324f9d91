/** What a client can find out about its token and its team. The specification does not have these paths. */
import { z } from 'zod';
import type { TeamQueries } from '../../../../projections/teams/teams.queries.ts';
import { planQuotas, type PlanQuota } from '../../../language/events/quota.ts';
import { haltCauses, type EventLog } from '../../../log/event-log.ts';
import { partitionOf } from '../../../log/partition.ts';
import type { LogBytes } from '../../usage/log-bytes.ts';
import type { ActiveMinute, TeamActivity } from '../../usage/team-activity.ts';
import { quotasOf, type QuotaSettings } from '../../usage/team-quotas.ts';
import { HttpError } from '../answers/http-error.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { jsonContent, type Operation } from '../openapi/operation.ts';
import type { App } from '../server/app-type.ts';
import { teamLimitNames } from '../server/request-observer.ts';

interface TeamRouteDependencies {
  readonly teams: TeamQueries;
  readonly logBytes: Pick<LogBytes, 'usedBy'>;
  readonly rateLimits: RateLimits | null;
  readonly quotaSettings: QuotaSettings;
  readonly activity: Pick<TeamActivity, 'since' | 'minutesOf'>;
  readonly log: Pick<EventLog, 'status' | 'quarantinedSince' | 'partitions' | 'bounds'>;
}

const shownTeam = z.strictObject({
  id: z.uuid().meta({ description: 'The ID of the team.' }),
  name: z.string(),
});
const exampleTeam = { id: '0199c2f0-11aa-7c3e-9d41-7f2b6a5c8e10', name: 'acme' };

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * For a team that was not found although its token was valid a moment ago. A read model that is being replaced will
 * have it again soon.
 */
function teamGone(): HttpError {
  return new HttpError('service_unavailable', 'The service cannot look up the team now.');
}

const tokenOperation: Operation = {
  operationId: 'getToken',
  tag: 'Team',
  summary: 'Get the token of the request',
  description: 'The team of the token, and what the token may do.',
  answers: {
    200: {
      description: 'The token.',
      body: jsonContent(
        z.strictObject({
          data: z.strictObject({
            id: z.uuid().meta({ description: 'The ID of the token.' }),
            name: z.string(),
            team: shownTeam,
            readOnly: z.boolean(),
            appID: z
              .string()
              .nullable()
              .meta({ description: 'The only app that the token reaches; null: the whole team.' }),
            expires: z.iso.datetime().nullable().meta({ description: 'When the token expires; null: never.' }),
          }),
        }),
        {
          'of the team': {
            data: {
              id: '0199c2f1-2bd4-7e55-8a6c-3d9e0f1a2b3c',
              name: 'first',
              team: exampleTeam,
              readOnly: false,
              appID: null,
              expires: null,
            },
          },
          'of an app, for reading': {
            data: {
              id: '0199c2f1-2bd4-7e55-8a6c-3d9e0f1a2b3d',
              name: 'the shop',
              team: exampleTeam,
              readOnly: true,
              appID: 'shop',
              expires: '2027-02-20T03:38:00.000Z',
            },
          },
        },
      ),
    },
  },
};

function addGetToken(app: App, { teams }: TeamRouteDependencies): void {
  app.get('/token', { config: { operation: tokenOperation, duringQuarantine: true } }, async (request, reply) => {
    const found = await teams.tokenOfTeam(request.principal.tokenId);
    if (found === null) throw teamGone();
    const { id, name, teamId, teamName, readOnly, appId, expiresAt } = found;
    const expires = expiresAt === null ? null : timeOf(expiresAt);
    void reply.header('cache-control', 'no-store');
    return { data: { id, name, team: { id: teamId, name: teamName }, readOnly, appID: appId, expires } };
  });
}

const quota = z
  .strictObject({
    used: z.int().min(0),
    max: z.int().min(0).nullable().meta({ description: 'Null: there is no limit.' }),
    setBy: z.enum(['plan', 'service']).nullable().meta({
      description: 'What sets the limit: the plan of the team, or the service for all teams. Null: there is no limit.',
    }),
  })
  .meta({ id: 'Quota' });

const rateLimit = z
  .strictObject({
    name: z.enum(teamLimitNames),
    max: z.int().min(0).meta({
      description: 'Maximum of units in a window: requests, rows written, bytes of bodies, or imports of stashes.',
    }),
    windowSeconds: z.int().min(0),
    left: z.int().min(0).meta({ description: 'How many units are left in the process that answers.' }),
    resetSeconds: z.int().min(0).meta({ description: 'In how many seconds the window ends.' }),
  })
  .meta({ id: 'RateLimit' });

const exampleUse: Partial<Record<PlanQuota, object>> = {
  rows: { used: 120_400, max: 5_000_000, setBy: 'plan' },
  tables: { used: 12, max: 10_000, setBy: 'service' },
};

const usageOperation: Operation = {
  operationId: 'getUsage',
  tag: 'Team',
  isOfTeam: true,
  summary: "Get the team's use of its quotas",
  description:
    'For each quota: how much the team uses, how much it may use, and what sets the limit. `logBytesPerDay` are bytes of the log today (UTC); bytes that other processes counted ' +
    'are some seconds old. The rate limits are those of the process that answers; the list is empty unless settings of the service add limits. The token of an app may not use this.',
  answers: {
    200: {
      description: 'The use.',
      body: jsonContent(
        z.strictObject({
          data: z.strictObject({
            team: shownTeam,
            suspended: z.boolean(),
            quotas: z.strictObject(
              Object.fromEntries(planQuotas.map((name) => [name, quota])) as Record<PlanQuota, typeof quota>,
            ),
            rateLimits: z.array(rateLimit),
          }),
        }),
        {
          use: {
            data: {
              team: exampleTeam,
              suspended: false,
              quotas: Object.fromEntries(
                planQuotas.map((name) => [name, exampleUse[name] ?? { used: 0, max: null, setBy: null }]),
              ),
              rateLimits: [{ name: 'requests', max: 600, windowSeconds: 60, left: 590, resetSeconds: 42 }],
            },
          },
        },
      ),
    },
  },
};

function addGetUsage(app: App, { teams, logBytes, rateLimits, quotaSettings }: TeamRouteDependencies): void {
  app.get('/usage', { config: { operation: usageOperation } }, async (request, reply) => {
    const { teamId } = request.principal;
    const [team, logBytesToday] = await Promise.all([teams.team(teamId), logBytes.usedBy(teamId)]);
    if (team === null) throw teamGone();
    const quotas = Object.entries(quotasOf(team, logBytesToday, quotaSettings)).map(([quota, { used, max, setBy }]) => {
      // Names of settings are only for operators.
      return [quota, { used, max, setBy: setBy === null || setBy === 'plan' ? setBy : 'service' }];
    });
    void reply.header('cache-control', 'no-store');
    return {
      data: {
        team: { id: team.id, name: team.name },
        suspended: team.suspended,
        quotas: Object.fromEntries(quotas),
        rateLimits: rateLimits?.standings(teamId) ?? [],
      },
    };
  });
}

const counted = z.int().min(0);

const activityOperation: Operation = {
  operationId: 'getActivity',
  tag: 'Team',
  isOfTeam: true,
  summary: "Get the team's activity in the last hour",
  description:
    'The activity minute by minute, the present minute last. Only the process that answers has counted it, and only since `since`. Also tells how ' +
    "far the service has processed the part of the log with the team's events. Answers of queries and exports count as bytes, but not as rows. A process counts " +
    'for the 1,000 teams that were active most recently. The token of an app may not use this.',
  answers: {
    200: {
      description: 'The activity.',
      body: jsonContent(
        z.strictObject({
          data: z.strictObject({
            since: z.iso.datetime().meta({ description: 'When the process that answers started to count.' }),
            minutes: z.array(
              z
                .strictObject({
                  start: z.iso.datetime(),
                  requests: z
                    .strictObject({ '2xx': counted, '3xx': counted, '4xx': counted, '5xx': counted, 'cutOff': counted })
                    .meta({
                      description:
                        'Requests by the class of their status; `cutOff`: the connection was cut before the answer ended.',
                    }),
                  rowsWritten: counted.meta({ description: 'Rows of writes that have taken effect.' }),
                  rowsRead: counted.meta({ description: 'Rows that were read singly or in pages.' }),
                  bytesReceived: counted.meta({
                    description: 'Bytes as the client sent them: with headers, and possibly compressed.',
                  }),
                  bytesSent: counted,
                })
                .meta({ id: 'ActiveMinute' }),
            ),
            log: z.strictObject({
              version: z
                .string()
                .regex(/^[0-9]+$/)
                .meta({
                  description:
                    "The version up to which the service has processed the part of the log with the team's events.",
                }),
              eventsBehind: counted.meta({ description: 'How many events of that part are still to be processed.' }),
              halted: z
                .enum(haltCauses)
                .nullable()
                .meta({ description: 'Why that part accepts no writes; null if it does.' }),
              quarantinedSince: z.iso.datetime().nullable().meta({
                description:
                  "Since when the team's requests are refused because one of its events could not be processed.",
              }),
            }),
          }),
        }),
        {
          'a quiet minute': {
            data: {
              since: '2026-01-02T03:04:05.678Z',
              minutes: [
                {
                  start: '2026-01-02T03:04:00.000Z',
                  requests: { '2xx': 12, '3xx': 0, '4xx': 1, '5xx': 0, 'cutOff': 0 },
                  rowsWritten: 500,
                  rowsRead: 40,
                  bytesReceived: 24_500,
                  bytesSent: 9800,
                },
              ],
              log: { version: '4711', eventsBehind: 0, halted: null, quarantinedSince: null },
            },
          },
        },
      ),
    },
  },
};

function addGetActivity(app: App, { teams, activity, log }: TeamRouteDependencies): void {
  app.get('/activity', { config: { operation: activityOperation, duringQuarantine: true } }, async (request, reply) => {
    const { teamId } = request.principal;
    const partition = partitionOf(teamId, log.partitions);
    const { halts, kafka } = log.status();
    // Read the end first: events that are appended meanwhile do not count as behind.
    const end = kafka === null ? (await log.bounds(partition)).end : null;
    const place = await teams.logPlace(teamId);
    if (place === null) throw teamGone();
    const eventsBehind = end === null ? kafka!.lag[partition]! : Math.max(0, Number(end - place.next));
    const quarantinedSince = log.quarantinedSince(teamId);
    void reply.header('cache-control', 'no-store');
    return {
      data: {
        since: timeOf(activity.since),
        minutes: activity.minutesOf(teamId).map(presentMinute),
        log: {
          version: place.version.toString(),
          eventsBehind,
          halted: halts[partition]!,
          quarantinedSince: quarantinedSince === null ? null : timeOf(quarantinedSince),
        },
      },
    };
  });
}

function presentMinute({ start, rowsWritten, rowsRead, bytesReceived, bytesSent, ...requests }: ActiveMinute): object {
  return { start: timeOf(start), requests, rowsWritten, rowsRead, bytesReceived, bytesSent };
}

export function addTeamRoutes(app: App, dependencies: TeamRouteDependencies): void {
  addGetToken(app, dependencies);
  addGetUsage(app, dependencies);
  addGetActivity(app, dependencies);
}
