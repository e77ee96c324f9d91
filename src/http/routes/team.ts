/** What a client may know of its token and its team. These paths are ours, not the spec's. */
import type { TeamQueries } from '../../../projections/teams/teams.queries.ts';
import type { App } from '../server/app-type.ts';
import { HttpError } from '../answers/http-error.ts';
import { teamOperations } from '../openapi/operations/team.ts';

export interface TeamRouteDependencies {
  readonly teams: TeamQueries;
}

export function addTeamRoutes(app: App, { teams }: TeamRouteDependencies): void {
  app.get('/token', { config: { operation: teamOperations.token, duringQuarantine: true } }, async (request, reply) => {
    const found = await teams.tokenOfTeam(request.principal.tokenId);
    // It was valid a moment ago: a read model that is being replaced has it again soon.
    if (found === null) throw new HttpError('service_unavailable', 'The token cannot be looked up now.');
    const { id, name, teamId, teamName, readOnly, appId, expiresAt } = found;
    const expires = expiresAt === null ? null : new Date(expiresAt).toISOString();
    void reply.header('cache-control', 'no-store');
    return { data: { id, name, team: { id: teamId, name: teamName }, readOnly, appID: appId, expires } };
  });
}
