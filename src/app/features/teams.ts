/** Routes for a team's own data, usage and tokens. */
import { tellRevocations } from '../../administration/tell-revocations.ts';
import { addTeamRoutes } from '../../api/http/team/team.ts';
import type { Feature } from '../feature.ts';

export const teamsFeature: Feature = (parts) => ({
  routes: (app) => addTeamRoutes(app, { ...parts, teams: parts.queries.teams, quotaSettings: parts.config }),
  maintenance: [{ name: 'tell_revocations', repeats: true, step: () => tellRevocations(parts.database, parts.log) }],
});
