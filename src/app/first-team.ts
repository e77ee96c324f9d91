/** Creates a team and a token at the first start, so that the service can be used at once. */
import { randomUUIDv7 } from 'node:crypto';
import { open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createTeam, createToken } from '../../commands/teams.ts';
import { hashToken } from '../../projections/teams/hash-token.ts';
import { endOfToken, newAccessToken } from '../storage/security/access-token.ts';
import { inDataFolder, makeFolder } from '../storage/data-folder.ts';
import { advisoryLocks } from '../storage/database/advisory-locks.ts';
import { recordFact } from '../log/record-fact.ts';
import type { AuditLog } from '../administration/audit/audit-log.ts';
import type { Service } from './service.ts';

export function tokenFileIn(dataFolder: string): string {
  return join(dataFolder, 'token');
}

/**
 * Creates the team `default` if there is no team, and writes its token to the file `token` in the folder (mode 0600).
 * Resolves to the token, or to null if there was a team already. Rejects with ConfigError when the file cannot be
 * written.
 */
export async function createFirstTeam(
  { database, log, queries: { teams } }: Service,
  dataFolder: string,
  audit: AuditLog,
): Promise<string | null> {
  return database.withSession(async (client) => {
    await client.query('select pg_advisory_lock($1)', [advisoryLocks.createFirstTeam]);
    const [first, ...others] = await teams.teams();
    // If a process was killed in the middle of this function, a single team without a token remains: continue with it.
    if (others.length > 0 || (first && (await teams.tokens(first.id)).length > 0)) return null;
    const path = tokenFileIn(dataFolder);
    const token = newAccessToken();
    await inDataFolder(dataFolder, async () => {
      await makeFolder(dataFolder);
      await using file = await open(path, 'w', 0o600);
      // An existing file has kept its mode.
      await file.chmod(0o600);
      await file.writeFile(`${token}\n`);
    });
    try {
      const teamId = first?.id ?? randomUUIDv7();
      if (!first) {
        await recordFact(log, createTeam(teamId, 'default'));
        audit.write({ action: 'team.create', result: 'done', teamId, name: 'default' });
      }
      const tokenId = randomUUIDv7();
      await recordFact(log, createToken(teamId, tokenId, 'first', hashToken(token), { endsIn: endOfToken(token) }));
      audit.write({ action: 'token.create', result: 'done', teamId, tokenId, name: 'first' });
      return token;
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
  });
}

/**
 * Resolves to null if the file holds the token of a team. Otherwise resolves to the ID of a team to create a token for.
 * There must be a team.
 */
export async function findTeamWithoutToken(
  { queries: { teams } }: Pick<Service, 'queries'>,
  dataFolder: string,
): Promise<string | null> {
  // A file that cannot be read counts as no token, whatever the reason.
  const token = await readFile(tokenFileIn(dataFolder), 'utf8').then(
    (text) => text.trim(),
    () => '',
  );
  if ((await teams.token(token)) !== null) return null;
  const [first] = await teams.teams();
  return first!.id;
}
