/** The queries of authentication and the command line about teams and tokens. */
import type { Database } from '../../src/storage/database/database.ts';
import { columnName } from '../../src/storage/database/rows-statement.ts';
import type { Statement } from '../../src/storage/database/pipelined-client.ts';
import { StoredTable } from '../../src/storage/database/stored-table.ts';
import { quotas, type PlanLimits, type Quota, type Usage } from '../../src/language/events/quota.ts';
import { operatorTokens, revocationNotes, useNotes } from '../../src/storage/security/token-notes.ts';
import { hashToken } from './hash-token.ts';
import { TeamEntity } from './team.entity.ts';

/** The unrevoked tokens of teams and operators whose hash meets a condition. */
function selectKnown(condition: string): string {
  return `select hash, id, team_id as "teamId", expires_at::float8 as "expiresAt", read_only as "readOnly",
  app_id as "appId" from tokens
    where ${condition} and not revoked and not exists (select from ${revocationNotes} where token_id = tokens.id)
    union all select hash, id, null, expires_at::float8, false, null from ${operatorTokens} where ${condition}
    and not revoked`;
}

type KnownHash = KnownToken & { readonly hash: Buffer };

const selectToken: Statement<KnownHash> = { name: 'read_token', text: selectKnown('hash = $1') };

const selectTokensOf: Statement<KnownHash> = {
  name: 'read_tokens',
  text: selectKnown("hash = any(array(select decode(hex, 'hex') from unnest($1::text[]) hex))"),
};

const selectTokens = `
  select id, team_id as "teamId", name, expires_at::float8 as "expiresAt", read_only as "readOnly", app_id as "appId",
  used_at::float8 as "usedAt",
    created_at::float8 as "createdAt", ends_in as "endsIn",
    revoked or exists (select from ${revocationNotes} where token_id = id) as revoked
  from tokens left join ${useNotes} uses on uses.token_id = id
  where team_id = $1 and ($2::uuid is null or (created, id) > (select created, id from tokens where id = $2))
  order by created, id limit $3`;

const selectTokenOfTeam: Statement<TokenOfTeam> = {
  name: 'read_token_of_team',
  text: `select tokens.id, tokens.name, team_id as "teamId", teams.name as "teamName",
  expires_at::float8 as "expiresAt", read_only as "readOnly",
      app_id as "appId" from tokens join teams on teams.id = team_id where tokens.id = $1`,
};

/** How far the partition of a team is projected: the next offset, and the version of the event before it. */
export interface ProjectedPosition {
  readonly next: bigint;
  readonly version: bigint;
}

const selectLogPlace: Statement<ProjectedPosition> = {
  name: 'read_log_place',
  text: `select next, base + next - 1 as version from teams join progress using (partition) where id = $1`,
};

/** A token that is not revoked. */
export interface KnownToken {
  readonly id: string;
  /** Null: an operator's token. */
  readonly teamId: string | null;
  /** The token is refused from this log time on, in milliseconds; null: never. */
  readonly expiresAt: number | null;
  readonly readOnly: boolean;
  /** The app to which the token is limited; null: the whole team. */
  readonly appId: string | null;
}

/** A token, and the team that it belongs to. */
interface TokenOfTeam extends KnownToken {
  readonly teamId: string;
  readonly name: string;
  readonly teamName: string;
}

export interface TeamSummary extends Usage, PlanLimits {
  readonly id: string;
  readonly name: string;
  readonly suspended: boolean;
}

const teamSummaries = StoredTable.of(TeamEntity, { without: ['partition', 'created'] });

/** The teams after the ID $1 (null: from the first on), at most $2 (null: all). */
const selectTeams = `select ${teamSummaries.columns()} from teams where $1::uuid is null or id > $1 order by id limit $2`;

const selectTeam: Statement<TeamSummary> = {
  name: 'read_team',
  text: `select ${teamSummaries.columns()} from teams where id = $1`,
};

/** The use of a quota: by all teams together, and by the team that uses the most. */
interface QuotaUse {
  readonly quota: Quota;
  readonly allTeams: number;
  readonly largestTeam: number;
}

const selectUse = `select ${quotas
  .map((quota) => {
    const column = columnName(quota);
    return `coalesce(sum(${column}), 0)::float8 as "${quota}", coalesce(max(${column}), 0)::float8 as "${quota}Largest"`;
  })
  .join(', ')} from teams`;

export interface TokenSummary extends KnownToken {
  readonly teamId: string;
  readonly name: string;
  /** The last recorded use, in milliseconds of log time; null: none. */
  readonly usedAt: number | null;
  /** In milliseconds of log time. */
  readonly createdAt: number;
  /** The token's last characters; null: unknown. */
  readonly endsIn: string | null;
  readonly revoked: boolean;
}

export class TeamQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The token's record; null if there is no such token, or it was revoked. */
  async token(token: string): Promise<KnownToken | null> {
    return (await this.#database.reader.query(selectToken, [hashToken(token)])).rows[0] ?? null;
  }

  /** A token by its ID, revoked or not; null if there is none. */
  async tokenOfTeam(tokenId: string): Promise<TokenOfTeam | null> {
    return (await this.#database.reader.query(selectTokenOfTeam, [tokenId])).rows[0] ?? null;
  }

  /** Null if there is no such team. */
  async logPlace(teamId: string): Promise<ProjectedPosition | null> {
    return (await this.#database.reader.query(selectLogPlace, [teamId])).rows[0] ?? null;
  }

  /** The tokens in this list that `token` would find, by one query. */
  async tokensAmong(tokens: readonly string[]): Promise<ReadonlyMap<string, KnownToken>> {
    const byHash = new Map(tokens.map((token) => [hashToken(token).toString('hex'), token]));
    const { rows } = await this.#database.reader.query(selectTokensOf, [[...byHash.keys()]]);
    return new Map(rows.map(({ hash, ...known }) => [byHash.get(hash.toString('hex'))!, known]));
  }

  /**
   * The teams after this ID, or all. They are ordered by ID, and so by time of creation, because IDs begin with that
   * time. Versions of different partitions are not comparable.
   */
  async teams(after: string | null = null, limit: number | null = null): Promise<TeamSummary[]> {
    return (await this.#database.pool.query<TeamSummary>(selectTeams, [after, limit])).rows;
  }

  async team(teamId: string): Promise<TeamSummary | null> {
    return (await this.#database.reader.query(selectTeam, [teamId])).rows[0] ?? null;
  }

  /** How much teams use of each quota. Reads all teams. */
  async quotaUse(): Promise<QuotaUse[]> {
    const {
      rows: [use],
    } = await this.#database.pool.query<Record<Quota | `${Quota}Largest`, number>>(selectUse);
    return quotas.map((quota) => ({ quota, allTeams: use![quota], largestTeam: use![`${quota}Largest`] }));
  }

  /** A team's tokens after this one, or all, in order of creation. */
  async tokens(teamId: string, after: string | null = null, limit: number | null = null): Promise<TokenSummary[]> {
    return (await this.#database.pool.query<TokenSummary>(selectTokens, [teamId, after, limit])).rows;
  }
}
