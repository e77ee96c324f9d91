/** What authentication and the command line read of teams and tokens. */
import { createHash } from 'node:crypto';
import type { Database } from '../../src/database/database.ts';
import type { Statement } from '../../src/database/pipelined-client.ts';
import { TeamEntity, TokenEntity } from './team.entity.ts';

const selectTokenTeam: Statement = {
  name: 'read_token_team',
  text: 'select team_id from tokens where hash = $1 and not revoked',
};

export interface TeamSummary {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
  readonly rows: bigint;
  readonly rowsMax?: bigint | null | undefined;
}

export interface TokenSummary {
  readonly id: string;
  readonly name: string;
  readonly revoked: boolean;
}

/** SHA-256 of a token: all that is ever stored of it. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

export class TeamQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The team that a token speaks for; null when there is no such token, or none any more. */
  async teamOfToken(token: string): Promise<string | null> {
    const { rows } = await this.#database.reader.query(selectTokenTeam, [hashToken(token)]);
    return rows.length === 0 ? null : (rows[0]![0] as string);
  }

  /** All teams, in order of creation. */
  async teams(): Promise<TeamSummary[]> {
    return this.#em().find(TeamEntity, {}, { orderBy: { created: 'asc', id: 'asc' } });
  }

  async team(teamId: string): Promise<TeamSummary | null> {
    return this.#em().findOne(TeamEntity, { id: teamId });
  }

  /** A team's tokens, in order of creation. */
  async tokens(teamId: string): Promise<TokenSummary[]> {
    return this.#em().find(TokenEntity, { teamId }, { orderBy: { created: 'asc', id: 'asc' } });
  }

  #em(): Database['orm']['em'] {
    return this.#database.orm.em.fork({ disableTransactions: true });
  }
}
