/** Teams and tokens in Postgres, as a batch reads and writes them. */
import { bind, type BoundStatement } from '../../src/database/combine.ts';
import type { PipelinedClient, ResultRow, Statement } from '../../src/database/pipelined-client.ts';
import type { Team, Token } from '../decision.ts';

type Tx = Pick<PipelinedClient, 'query'>;

/** What `toTeam` reads, in its order. */
export const teamColumns = `teams.id, teams.partition, teams.name, teams.created, teams.suspended, teams.rows, teams.rows_max`;

export function toTeam([id, partition, name, created, suspended, rows, rowsMax]: ResultRow): Team {
  return {
    id, partition, name, created, suspended, rows: Number(rows), rowsMax: rowsMax === null ? null : Number(rowsMax),
  };
}

const selectTeams: Statement = {
  name: 'select_teams',
  text: `select ${teamColumns} from teams where id = any($1::uuid[])`,
};

export async function findTeams(tx: Tx, ids: readonly string[]): Promise<Team[]> {
  const { rows } = await tx.query(selectTeams, [ids]);
  return rows.map(toTeam);
}

const upsertTeams: Statement = {
  name: 'upsert_teams',
  text: `insert into teams (id, partition, name, created, suspended, rows, rows_max)
    select * from unnest($1::uuid[], $2::int2[], $3::text[], $4::int8[], $5::bool[], $6::int8[], $7::int8[])
    on conflict (id) do update set suspended = excluded.suspended, rows = excluded.rows, rows_max = excluded.rows_max`,
};

export function storeTeams(teams: readonly Team[]): BoundStatement {
  return bind(upsertTeams, [
    teams.map((team) => team.id),
    teams.map((team) => team.partition),
    teams.map((team) => team.name),
    teams.map((team) => team.created),
    teams.map((team) => team.suspended),
    teams.map((team) => team.rows),
    teams.map((team) => team.rowsMax),
  ]);
}

const selectTokens: Statement = {
  name: 'select_tokens',
  text: `select id, team_id, name, encode(hash, 'hex'), created, revoked from tokens where id = any($1::uuid[])`,
};

export async function findTokens(tx: Tx, ids: readonly string[]): Promise<Token[]> {
  const { rows } = await tx.query(selectTokens, [ids]);
  return rows.map(([id, teamId, name, hash, created, revoked]) => ({ id, teamId, name, hash, created, revoked }));
}

const upsertTokens: Statement = {
  name: 'upsert_tokens',
  text: `insert into tokens (id, team_id, name, hash, created, revoked)
    select id, team_id, name, decode(hash, 'hex'), created, revoked
    from unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::int8[], $6::bool[])
      as given(id, team_id, name, hash, created, revoked)
    on conflict (id) do update set revoked = excluded.revoked`,
};

export function storeTokens(tokens: readonly Token[]): BoundStatement {
  return bind(upsertTokens, [
    tokens.map((token) => token.id),
    tokens.map((token) => token.teamId),
    tokens.map((token) => token.name),
    tokens.map((token) => token.hash),
    tokens.map((token) => token.created),
    tokens.map((token) => token.revoked),
  ]);
}
