/** What a client may know of its token and its team. These paths are ours, not the spec's. */
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

/** The token was valid a moment ago: a read model that is being replaced has it again soon. */
function teamGone(): HttpError {
  return new HttpError('service_unavailable', 'The team cannot be looked up now.');
}

const tokenOperation: Operation = {
  operationId: 'getToken',
  tag: 'Team',
  summary: 'Get the token of the request',
  description: 'Which team it is of, and what it may do.',
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
            appID: z.string().nullable().meta({ description: 'The only app that it is for; null: all of the team.' }),
            expires: z.iso.datetime().nullable().meta({ description: 'From when on it is refused; null: never.' }),
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
    setBy: z
      .enum(['plan', 'service'])
      .nullable()
      .meta({ description: 'The plan of the team, or else the service, for all teams; null: there is no limit.' }),
  })
  .meta({ id: 'Quota' });

const rateLimit = z
  .strictObject({
    name: z.enum(teamLimitNames),
    max: z.int().min(0).meta({
      description: 'The most units in a window: requests, rows written, bytes of bodies, or imports of stashes.',
    }),
    windowSeconds: z.int().min(0),
    left: z.int().min(0).meta({ description: 'How many units the process that answers has left.' }),
    resetSeconds: z.int().min(0).meta({ description: 'For how many more seconds.' }),
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
  summary: 'Get what the team uses of its quotas',
  description:
    'What the team uses of each quota, how much it may use, and what says so. `logBytesPerDay` are bytes of the log today (UTC), which other processes have ' +
    'counted up to some seconds ago. The rate limits are those of the process that answers; there are none unless the service was set so. Not for the token of an app.',
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
      // Names of settings are for operators.
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
  summary: 'Get what the team has done in the last hour',
  description:
    'Minute by minute, the present one last, as the process that answers has counted it: other processes, and what was before `since`, are not in it. Also how ' +
    "far the part of the log with the team's events is processed. Answers of queries and exports count with their bytes, but not with their rows. A process counts " +
    'for the 1,000 teams that were active last. Not for the token of an app.',
  answers: {
    200: {
      description: 'The activity.',
      body: jsonContent(
        z.strictObject({
          data: z.strictObject({
            since: z.iso.datetime().meta({ description: 'When the process that answers began to count.' }),
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
                  rowsRead: counted.meta({ description: 'Rows that were read one by one, or in pages.' }),
                  bytesReceived: counted.meta({ description: 'As sent: with headers, and compressed if they were.' }),
                  bytesSent: counted,
                })
                .meta({ id: 'ActiveMinute' }),
            ),
            log: z.strictObject({
              version: z
                .string()
                .regex(/^[0-9]+$/)
                .meta({
                  description: "The version up to which the part of the log with the team's events is processed.",
                }),
              eventsBehind: counted.meta({ description: 'How many events of that part are still to be processed.' }),
              halted: z
                .enum(haltCauses)
                .nullable()
                .meta({ description: 'Why that part takes no writes; null: it does.' }),
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
    // The end first: what is appended meanwhile is not behind.
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
