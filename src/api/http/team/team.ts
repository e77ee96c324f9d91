/** What a client may know of its token and its team. These paths are ours, not the spec's. */
import type { TeamQueries } from '../../../../projections/teams/teams.queries.ts';
import type { LogBytes } from '../../usage/log-bytes.ts';
import { partitionOf } from '../../../log/partition.ts';
import type { EventLog } from '../../../log/event-log.ts';
import type { ActiveMinute, TeamActivity } from '../../usage/team-activity.ts';
import { quotasOf, type QuotaSettings } from '../../usage/team-quotas.ts';
import type { App } from '../server/app-type.ts';
import { HttpError } from '../answers/http-error.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import { teamOperations } from './team-operations.ts';

export interface TeamRouteDependencies {
  readonly teams: TeamQueries;
  readonly logBytes: Pick<LogBytes, 'usedBy'>;
  readonly rateLimits: RateLimits | null;
  readonly quotaSettings: QuotaSettings;
  readonly activity: Pick<TeamActivity, 'since' | 'minutesOf'>;
  readonly log: Pick<EventLog, 'status' | 'quarantinedSince' | 'partitions' | 'bounds'>;
}

export function addTeamRoutes(
  app: App,
  { teams, logBytes, rateLimits, quotaSettings, activity, log }: TeamRouteDependencies,
): void {
  app.get('/token', { config: { operation: teamOperations.token, duringQuarantine: true } }, async (request, reply) => {
    const found = await teams.tokenOfTeam(request.principal.tokenId);
    if (found === null) throw gone();
    const { id, name, teamId, teamName, readOnly, appId, expiresAt } = found;
    const expires = expiresAt === null ? null : timeOf(expiresAt);
    void reply.header('cache-control', 'no-store');
    return { data: { id, name, team: { id: teamId, name: teamName }, readOnly, appID: appId, expires } };
  });

  app.get('/usage', { config: { operation: teamOperations.usage } }, async (request, reply) => {
    const { teamId } = request.principal;
    const [team, logBytesToday] = await Promise.all([teams.team(teamId), logBytes.usedBy(teamId)]);
    if (team === null) throw gone();
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

  app.get(
    '/activity',
    { config: { operation: teamOperations.activity, duringQuarantine: true } },
    async (request, reply) => {
      const { teamId } = request.principal;
      const partition = partitionOf(teamId, log.partitions);
      const { halts, kafka } = log.status();
      // The end first: what is appended meanwhile is not behind.
      const end = kafka === null ? (await log.bounds(partition)).end : null;
      const place = await teams.logPlace(teamId);
      if (place === null) throw gone();
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
    },
  );
}

function presentMinute({ start, rowsWritten, rowsRead, bytesReceived, bytesSent, ...requests }: ActiveMinute): object {
  return { start: timeOf(start), requests, rowsWritten, rowsRead, bytesReceived, bytesSent };
}

function timeOf(ms: number): string {
  return new Date(ms).toISOString();
}

/** The token was valid a moment ago: a read model that is being replaced has it again soon. */
function gone(): HttpError {
  return new HttpError('service_unavailable', 'The team cannot be looked up now.');
}
