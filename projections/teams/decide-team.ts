/** Teams, their plans and tokens. These events come from operators and cannot be refused: they are facts. */
import type { Event, EventOf } from '../../src/language/events/event.ts';
import { noPlanLimits, noUsage, planQuotas } from '../../src/language/events/quota.ts';
import { apply } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Team, TeamChange, Token, TokenChange } from './team.ts';
import type { TeamsState, TeamStates } from './teams.state.ts';

/** Ignores a repeated creation: an existing team stays as it is. */
export function decideTeamCreated(
  { teams }: TeamStates,
  { data }: Event<EventOf<'TeamCreated'>>,
  at: LogPlace,
): Decision<TeamChange> {
  if (teams.team(data.teamId) !== null) return apply([]);
  const team: Team = {
    id: data.teamId,
    partition: at.partition,
    name: data.name,
    created: at.version,
    suspended: false,
    ...noUsage,
    ...noPlanLimits,
  };
  return apply([{ kind: 'team', team }]);
}

/** A fact about an unknown team changes nothing. */
export function decideTeamChange(teams: TeamsState, teamId: string, change: Partial<Team>): Decision<TeamChange> {
  const team = teams.team(teamId);
  return apply(team === null ? [] : [{ kind: 'team', team: { ...team, ...change } }]);
}

/** Limits that are not in the event stay unchanged. */
export function decideTeamPlan({ teams }: TeamStates, { data }: Event<EventOf<'TeamPlanSet'>>): Decision<TeamChange> {
  const limits = planQuotas.map((quota) => `${quota}Max` as const).filter((limit) => data[limit] !== undefined);
  return decideTeamChange(teams, data.teamId, Object.fromEntries(limits.map((limit) => [limit, data[limit]])));
}

export function decideTokenCreated(
  { teams }: TeamStates,
  { data }: Event<EventOf<'TokenCreated'>>,
  at: LogPlace,
): Decision<TokenChange> {
  if (teams.team(data.teamId) === null || teams.token(data.tokenId) !== null) return apply([]);
  const { tokenId, teamId, name, hash, expiresAt, readOnly, appId, endsIn = null } = data;
  const token: Token = {
    id: tokenId,
    teamId,
    name,
    hash,
    created: at.version,
    createdAt: at.time,
    endsIn,
    expiresAt,
    readOnly,
    appId,
    revoked: false,
  };
  return apply([{ kind: 'token', token }]);
}

/** A revocation is final. */
export function decideTokenRevoked(
  { teams }: TeamStates,
  { data }: Event<EventOf<'TokenRevoked'>>,
): Decision<TokenChange> {
  const token = teams.token(data.tokenId);
  if (token === null || token.teamId !== data.teamId) return apply([]);
  return apply([{ kind: 'token', token: { ...token, revoked: true } }]);
}
