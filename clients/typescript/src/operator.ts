/** What operators may do, with a token of theirs: teams, plans, tokens and the log. */
import type { components, operations } from './interface.ts';
import { Pages } from './pages.ts';
import type { Operations } from './transport.ts';

type Schemas = components['schemas'];

/** A team as a list shows it; with its quotas and quarantine as it is shown alone. */
export type TeamSummary = Schemas['TeamSummary'];
export type Team = Schemas['Team'];

/** Limits of a team. What is left out stays as it is; null: the plan sets no limit. */
export type PlanChange = Schemas['PlanChange'];

/** A token as lists show it: of a team, or of an operator. */
export type Token = Schemas['Token'];
export type OperatorToken = Schemas['OperatorToken'];
export type NewToken = Schemas['NewToken'];
export type NewOperatorToken = Schemas['NewOperatorToken'];

/** A token that was made: the only time that `token` is shown. */
export type MadeToken = operations['createTeamToken']['responses'][201]['content']['application/json']['data'];
export type MadeOperatorToken =
  operations['createOperatorToken']['responses'][201]['content']['application/json']['data'];

export type Partition = Schemas['Partition'];
export type Quarantine = Schemas['Quarantine'];

/** What became of a release: `error` says which event failed again, and why. */
export type Release = operations['releaseTeam']['responses'][200]['content']['application/json']['data'];

/** All of it throws TablogError `forbidden` with the token of a team. */
export class Operator {
  readonly #operations: Operations;

  constructor(operations: Operations) {
    this.#operations = operations;
  }

  /** All teams, in the order in which they were created. */
  teams(): Pages<TeamSummary> {
    return new Pages(
      async (continuation) =>
        (await this.#operations.GET('/admin/teams', { params: { query: pageAt(continuation) } })).data!,
    );
  }

  async team(teamID: string): Promise<Team> {
    return (await this.#operations.GET('/admin/teams/{teamID}', { params: { path: { teamID } } })).data!.data;
  }

  /** Names need not be unique. Sent once: without an answer it may have taken effect. */
  async createTeam(name: string): Promise<Team> {
    return (await this.#operations.POST('/admin/teams', { body: { name } })).data!.data;
  }

  async setPlan(teamID: string, plan: PlanChange): Promise<Team> {
    return (await this.#operations.PATCH('/admin/teams/{teamID}/plan', { params: { path: { teamID } }, body: plan }))
      .data!.data;
  }

  async suspend(teamID: string): Promise<Team> {
    return (await this.#operations.POST('/admin/teams/{teamID}/suspend', { params: { path: { teamID } } })).data!.data;
  }

  /** Ends a suspension. */
  async resume(teamID: string): Promise<Team> {
    return (await this.#operations.POST('/admin/teams/{teamID}/resume', { params: { path: { teamID } } })).data!.data;
  }

  /** The tokens of a team, those that were revoked or have expired too. */
  tokens(teamID: string): Pages<Token> {
    return new Pages(async (continuation) => {
      return (
        await this.#operations.GET('/admin/teams/{teamID}/tokens', {
          params: { path: { teamID }, query: pageAt(continuation) },
        })
      ).data!;
    });
  }

  async createToken(teamID: string, token: NewToken = {}): Promise<MadeToken> {
    return (await this.#operations.POST('/admin/teams/{teamID}/tokens', { params: { path: { teamID } }, body: token }))
      .data!.data;
  }

  /** The tokens of operators, those that were revoked or have expired too. */
  operatorTokens(): Pages<OperatorToken> {
    return new Pages(
      async (continuation) =>
        (await this.#operations.GET('/admin/tokens', { params: { query: pageAt(continuation) } })).data!,
    );
  }

  async createOperatorToken(token: NewOperatorToken = {}): Promise<MadeOperatorToken> {
    return (await this.#operations.POST('/admin/tokens', { body: token })).data!.data;
  }

  /** Ends a token of a team or of an operator, for good. */
  async revoke(tokenID: string): Promise<void> {
    await this.#operations.DELETE('/admin/tokens/{tokenID}', { params: { path: { tokenID } } });
  }

  /** How far each partition of the log is projected, and why it has halted. */
  async partitions(): Promise<Partition[]> {
    return (await this.#operations.GET('/admin/partitions')).data!.data;
  }

  /** The teams with an event that cannot be projected. */
  async quarantine(): Promise<Quarantine[]> {
    return (await this.#operations.GET('/admin/quarantine')).data!.data;
  }

  /** Lets a team go on, once the cause is removed. */
  async release(teamID: string): Promise<Release> {
    return (await this.#operations.POST('/admin/quarantine/{teamID}/release', { params: { path: { teamID } } })).data!
      .data;
  }
}

function pageAt(continuation: string | undefined): { continuation?: string } {
  return continuation === undefined ? {} : { continuation };
}
