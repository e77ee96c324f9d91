/** Reads and writes teams and tokens. */
import type { Statement, Tx } from '../../src/storage/database/pipelined-client.ts';
import { planQuotas, quotas } from '../../src/language/events/quota.ts';
import { storedTeams, storedTokens } from './team.entity.ts';
import type { Team, Token } from './team.ts';

const selectTeams: Statement<Team> = {
  name: 'select_teams',
  text: `select ${storedTeams.columns()} from teams where id = any($1::uuid[])`,
};

export async function findTeams(tx: Tx, ids: readonly string[]): Promise<Team[]> {
  return (await tx.query(selectTeams, [ids])).rows;
}

export const upsertTeams = storedTeams.upsert('upsert_teams', [
  'suspended',
  ...quotas,
  ...planQuotas.map((quota) => `${quota}Max` as const),
]);

const selectTokens: Statement<Token> = {
  name: 'select_tokens',
  text: `select ${storedTokens.columns()} from tokens where id = any($1::uuid[])`,
};

export async function findTokens(tx: Tx, ids: readonly string[]): Promise<Token[]> {
  return (await tx.query(selectTokens, [ids])).rows;
}

export const upsertTokens = storedTokens.upsert('upsert_tokens', ['revoked']);
