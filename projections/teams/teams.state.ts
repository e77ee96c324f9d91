/** The teams and tokens of a batch: as loaded, and as changed by the events decided so far. */
import { UndoMap, UndoSet, type UndoJournal } from '../../src/log/batch/undo-journal.ts';
import type { Team, Token, TokenChange, UsageChange } from './team.ts';

/** The states that decisions about teams read. Other models also read the teams. */
export interface TeamStates {
  readonly teams: TeamsState;
}

export class TeamsState {
  readonly #teams: Map<string, Team>;
  readonly #tokens: Map<string, Token>;
  readonly #changedTeams: Set<string>;
  readonly #changedTokens: Set<string>;

  constructor(journal: UndoJournal) {
    this.#teams = new UndoMap(journal);
    this.#tokens = new UndoMap(journal);
    this.#changedTeams = new UndoSet(journal);
    this.#changedTokens = new UndoSet(journal);
  }

  team(teamId: string): Team | null {
    return this.#teams.get(teamId) ?? null;
  }

  /** The team that owns something. Throws if there is no such team, which is a bug. */
  known(teamId: string): Team {
    const team = this.team(teamId);
    if (team === null) throw new Error(`the team ${teamId} is unknown`);
    return team;
  }

  token(tokenId: string): Token | null {
    return this.#tokens.get(tokenId) ?? null;
  }

  all(): Iterable<Team> {
    return this.#teams.values();
  }

  put(team: Team): void {
    this.#teams.set(team.id, team);
  }

  putToken(token: Token): void {
    this.#tokens.set(token.id, token);
  }

  change(team: Team): void {
    this.put(team);
    this.#changedTeams.add(team.id);
  }

  /** Adds to the usage of a known team. */
  count({ teamId, quota, by }: UsageChange): void {
    const team = this.known(teamId);
    this.change({ ...team, [quota]: team[quota] + by });
  }

  changeToken({ token }: TokenChange): void {
    this.putToken(token);
    this.#changedTokens.add(token.id);
  }

  changedTeams(): Team[] {
    return [...this.#changedTeams].map((id) => this.team(id)!);
  }

  changedTokens(): Token[] {
    return [...this.#changedTokens].map((id) => this.token(id)!);
  }
}
