/** Teams, their plans and tokens. The command line asks for these; they cannot be refused, so their events are facts. */
import type { EventOf } from '../../src/events/event.ts';
import { apply } from '../decision.ts';
import type { Decision, DecisionState, LogPlace, Team, Token } from '../decision.ts';

/** A team that is there already stays as it is: the same creation was appended twice. */
export function decideTeamCreated(state: DecisionState, data: EventOf<'TeamCreated'>, at: LogPlace): Decision {
  if (state.team(data.teamId) !== null) return apply([]);
  const team: Team = {
    id: data.teamId, partition: at.partition, name: data.name, created: at.version, suspended: false, rows: 0,
    rowsMax: null, uploadBytes: 0, uploadBytesMax: null, openUploads: 0,
  };
  return apply([{ kind: 'team', team }]);
}

/** A fact about a team that does not exist changes nothing. */
export function decideTeamChange(state: DecisionState, teamId: string, change: Partial<Team>): Decision {
  const team = state.team(teamId);
  return apply(team === null ? [] : [{ kind: 'team', team: { ...team, ...change } }]);
}

/** What an event does not name stays as it is. */
export function decideTeamPlan(state: DecisionState, { teamId, rowsMax, uploadBytesMax }: EventOf<'TeamPlanSet'>): Decision {
  return decideTeamChange(state, teamId, {
    ...(rowsMax === undefined ? {} : { rowsMax }), ...(uploadBytesMax === undefined ? {} : { uploadBytesMax }),
  });
}

export function decideTokenCreated(state: DecisionState, data: EventOf<'TokenCreated'>, at: LogPlace): Decision {
  if (state.team(data.teamId) === null || state.token(data.tokenId) !== null) return apply([]);
  const { tokenId, teamId, name, hash, expiresAt, readOnly, appId } = data;
  const token: Token = {
    id: tokenId, teamId, name, hash, created: at.version, expiresAt, readOnly, appId, revoked: false,
  };
  return apply([{ kind: 'token', token }]);
}

/** A revocation is for good. */
export function decideTokenRevoked(state: DecisionState, data: EventOf<'TokenRevoked'>): Decision {
  const token = state.token(data.tokenId);
  if (token === null || token.teamId !== data.teamId) return apply([]);
  return apply([{ kind: 'token', token: { ...token, revoked: true } }]);
}
