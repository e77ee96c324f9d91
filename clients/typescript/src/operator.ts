/** The requests of operators, with a token of their own: teams, plans, tokens and the log. */
import type { components, operations } from './interface.ts';
import { Pages } from './pages.ts';
import type { Operations } from './transport.ts';

type Schemas = components['schemas'];

/** A team in a list; and a team on its own, with its quotas and quarantine. */
export type TeamSummary = Schemas['TeamSummary'];
export type Team = Schemas['Team'];

/** Limits of a team. A limit that is left out stays as it is. Null: the plan sets no limit. */
export type PlanChange = Schemas['PlanChange'];

/** A token in a list: of a team, or of an operator. */
export type Token = Schemas['Token'];
export type OperatorToken = Schemas['OperatorToken'];
export type NewToken = Schemas['NewToken'];
export type NewOperatorToken = Schemas['NewOperatorToken'];

/** A new token. No other answer has `token`. */
export type MadeToken = operations['createTeamToken']['responses'][201]['content']['application/json']['data'];
export type MadeOperatorToken =
  operations['createOperatorToken']['responses'][201]['content']['application/json']['data'];

export type Partition = Schemas['Partition'];
export type Quarantine = Schemas['Quarantine'];

/** The result of a release. `error`: which event failed again, and why. */
export type Release = operations['releaseTeam']['responses'][200]['content']['application/json']['data'];

/** Every method throws TablogError `forbidden` with the token of a team. */
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

  /** Creates a team. Names need not be unique. The request is sent once: without an answer it may have taken effect. */
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

  /** The tokens of a team, including revoked and expired ones. */
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

  /** The tokens of operators, including revoked and expired ones. */
  operatorTokens(): Pages<OperatorToken> {
    return new Pages(
      async (continuation) =>
        (await this.#operations.GET('/admin/tokens', { params: { query: pageAt(continuation) } })).data!,
    );
  }

  async createOperatorToken(token: NewOperatorToken = {}): Promise<MadeOperatorToken> {
    return (await this.#operations.POST('/admin/tokens', { body: token })).data!.data;
  }

  /** Revokes a token of a team or of an operator. */
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

  /** Releases a team from quarantine. Remove the cause first. */
  async release(teamID: string): Promise<Release> {
    return (await this.#operations.POST('/admin/quarantine/{teamID}/release', { params: { path: { teamID } } })).data!
      .data;
  }
}

function pageAt(continuation: string | undefined): { continuation?: string } {
  return continuation === undefined ? {} : { continuation };
}
