/** Teams, their plans and their tokens. */
import { refusedWith } from '../../src/log/batch/decision.ts';
import type { Loading, Model } from '../../src/log/model.ts';
import { storing } from '../../src/storage/database/rows-statement.ts';
import {
  decideTeamChange,
  decideTeamCreated,
  decideTeamPlan,
  decideTokenCreated,
  decideTokenRevoked,
} from './decide-team.ts';
import { TeamEntity, TokenEntity } from './team.entity.ts';
import { TeamQueries } from './teams.queries.ts';
import { teamSections } from './teams.sections.ts';
import type { Team, TeamChange, TokenChange } from './team.ts';
import { TeamsState, type TeamStates } from './teams.state.ts';
import { findTeams, findTokens, upsertTeams, upsertTokens } from './teams.store.ts';
import { namedBy } from '../../src/language/events/event-names.ts';

/** The teams that earlier batches of the partition have loaded or changed, by ID. */
type RememberedTeams = Map<string, Team>;

/** How many teams are remembered. Past this limit all are dropped, because that is simple and rare. */
const rememberedMax = 1000;

export const teams: Model<TeamsState, TeamStates, TeamChange | TokenChange, RememberedTeams, null, TeamQueries> = {
  entities: [TeamEntity, TokenEntity],
  storage: [],
  decisions: {
    TeamCreated: decideTeamCreated,
    TeamSuspended: ({ teams }, { data }) => decideTeamChange(teams, data.teamId, { suspended: true }),
    TeamResumed: ({ teams }, { data }) => decideTeamChange(teams, data.teamId, { suspended: false }),
    TeamPlanSet: decideTeamPlan,
    TokenCreated: decideTokenCreated,
    TokenRevoked: decideTokenRevoked,
    RequestRefused: (_states, { data }) => refusedWith(data.refusal),
  },
  changes: {
    team: ({ teams }, { team }) => teams.change(team),
    usage: ({ teams }, change) => teams.count(change),
    token: ({ teams }, change) => teams.changeToken(change),
  },
  open: (_newKey, journal) => new TeamsState(journal),
  load,
  store: (state) => [...storing(state.changedTeams(), upsertTeams), ...storing(state.changedTokens(), upsertTokens)],
  remember: (remembered, state) => {
    const known = remembered !== null && remembered.size < rememberedMax ? remembered : new Map<string, Team>();
    for (const team of state.all()) known.set(team.id, team);
    return known;
  },
  queries: (database) => new TeamQueries(database),
  sections: teamSections,
  garbage: {},
};

async function load({
  tx,
  events,
  states: { teams },
  before,
  remembered,
}: Loading<TeamStates, RememberedTeams, null>): Promise<void> {
  const teamIds = new Set<string>();
  const tokenIds = new Set<string>();
  for (const { data } of events) {
    const [teamId, tokenId] = [namedBy(data, 'team'), namedBy(data, 'token')];
    if (teamId !== null) {
      const team = teams.team(teamId) ?? before?.teams.team(teamId) ?? remembered?.get(teamId);
      if (team) teams.put(team);
      else teamIds.add(teamId);
    }
    if (tokenId !== null) {
      const token = teams.token(tokenId) ?? before?.teams.token(tokenId);
      if (token) teams.putToken(token);
      else tokenIds.add(tokenId);
    }
  }
  const [foundTeams, foundTokens] = await Promise.all([
    teamIds.size === 0 ? [] : findTeams(tx, [...teamIds]),
    tokenIds.size === 0 ? [] : findTokens(tx, [...tokenIds]),
  ]);
  for (const team of foundTeams) teams.put(team);
  for (const token of foundTokens) teams.putToken(token);
}
