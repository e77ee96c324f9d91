/** Teams and tokens in Postgres, as a batch reads and writes them. */
import type { BoundStatement } from '../../src/database/combine.ts';
import type { ResultRow, Statement, Tx } from '../../src/database/pipelined-client.ts';
import { RowsStatement } from '../../src/database/rows-statement.ts';
import type { Team, Token } from './team.ts';

/** What `toTeam` reads, in its order. */
export const teamColumns = `teams.id, teams.partition, teams.name, teams.created, teams.suspended, teams.rows, teams.rows_max,
  teams.upload_bytes, teams.upload_bytes_max, teams.open_uploads`;

export function toTeam(row: ResultRow): Team {
  const [id, partition, name, created, suspended, rows, rowsMax, uploadBytes, uploadBytesMax, openUploads] = row;
  return {
    id, partition, name, created, suspended, rows: Number(rows), rowsMax: rowsMax === null ? null : Number(rowsMax),
    uploadBytes: Number(uploadBytes), uploadBytesMax: uploadBytesMax === null ? null : Number(uploadBytesMax),
    openUploads: Number(openUploads),
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

const upsertTeams = new RowsStatement<Team>(
  'upsert_teams',
  [
    ['uuid', (team) => team.id], ['int2', (team) => team.partition], ['text', (team) => team.name],
    ['int8', (team) => team.created], ['bool', (team) => team.suspended], ['int8', (team) => team.rows],
    ['int8', (team) => team.rowsMax], ['int8', (team) => team.uploadBytes], ['int8', (team) => team.uploadBytesMax],
    ['int8', (team) => team.openUploads],
  ],
  (rows) => `insert into teams (id, partition, name, created, suspended, rows, rows_max, upload_bytes, upload_bytes_max, open_uploads)
      select * from ${rows} as given
    on conflict (id) do update set suspended = excluded.suspended, rows = excluded.rows, rows_max = excluded.rows_max,
      upload_bytes = excluded.upload_bytes, upload_bytes_max = excluded.upload_bytes_max,
      open_uploads = excluded.open_uploads`,
);

export function storeTeams(teams: readonly Team[]): BoundStatement {
  return upsertTeams.bind(teams);
}

const selectTokens: Statement = {
  name: 'select_tokens',
  text: `select id, team_id, name, encode(hash, 'hex'), created, expires_at, read_only, app_id, revoked
    from tokens where id = any($1::uuid[])`,
};

export async function findTokens(tx: Tx, ids: readonly string[]): Promise<Token[]> {
  const { rows } = await tx.query(selectTokens, [ids]);
  return rows.map(([id, teamId, name, hash, created, expiresAt, readOnly, appId, revoked]) => ({
    id, teamId, name, hash, created, expiresAt: expiresAt === null ? null : Number(expiresAt), readOnly, appId, revoked,
  }));
}

const upsertTokens = new RowsStatement<Token>(
  'upsert_tokens',
  [
    ['uuid', (token) => token.id], ['uuid', (token) => token.teamId], ['text', (token) => token.name],
    ['text', (token) => token.hash], ['int8', (token) => token.created], ['int8', (token) => token.expiresAt],
    ['bool', (token) => token.readOnly], ['text', (token) => token.appId], ['bool', (token) => token.revoked],
  ],
  (rows) => `insert into tokens (id, team_id, name, hash, created, expires_at, read_only, app_id, revoked)
    select id, team_id, name, decode(hash, 'hex'), created, expires_at, read_only, app_id, revoked
    from ${rows} as given(id, team_id, name, hash, created, expires_at, read_only, app_id, revoked)
    on conflict (id) do update set revoked = excluded.revoked`,
);

export function storeTokens(tokens: readonly Token[]): BoundStatement {
  return upsertTokens.bind(tokens);
}
