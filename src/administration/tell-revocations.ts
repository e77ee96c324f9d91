/**
 * Appends the revocations of tokens to the log. A revocation is first noted in Postgres, where authentication reads it,
 * so it takes effect even while the log is unavailable (docs/decisions/0016).
 */
import { revokeToken } from '../../commands/teams.ts';
import { commandIdOf } from '../language/events/command-id.ts';
import { isNotHeld } from '../log/quarantine/held-in-sql.ts';
import type { Database } from '../storage/database/database.ts';
import { revocationNotes } from '../storage/security/token-notes.ts';
import type { EventLog } from '../log/event-log.ts';
import { recordFacts } from '../log/record-fact.ts';

/** The limit is per partition, so that a partition that accepts no events does not block the others. */
const revocationsAtOnce = 20;

/**
 * How long a note stays after the log has the revocation, in milliseconds. Meanwhile the read model of another version
 * may lag behind on the same log.
 */
const noteLife = 3_600_000;

/**
 * Appends the revocation of a token. If two processes append it, both send the same command ID, so it takes effect
 * once. Rejects as `EventLog.append` does.
 */
export function recordRevocation(log: EventLog, teamId: string, tokenId: string): Promise<void> {
  return recordFacts(log, [revocation(teamId, tokenId)]);
}

/**
 * Appends the revocations that the log lacks, and deletes old notes of the others. Any process may call it at any time.
 * Resolves to whether there may be more. Tries all of them, then rejects as `EventLog.append` does if one failed.
 */
export async function tellRevocations(database: Database, log: EventLog, life = noteLife): Promise<boolean> {
  await database.pool.query(
    `delete from ${revocationNotes} notes using tokens
      where tokens.id = notes.token_id and tokens.revoked and noted_at <= now() - $1 * interval '1 millisecond'`,
    [life],
  );
  const { rows: due } = await database.pool.query<{ team_id: string; id: string }>(
    `select due.team_id, due.id from progress cross join lateral (
        select tokens.team_id, tokens.id from ${revocationNotes} notes
        join tokens on tokens.id = notes.token_id join teams on teams.id = tokens.team_id
        where teams.partition = progress.partition and ${isNotHeld} and not tokens.revoked order by noted_at
        limit ${revocationsAtOnce}
      ) due`,
  );
  await recordFacts(
    log,
    due.map(({ team_id: teamId, id }) => revocation(teamId, id)),
  );
  return due.length > 0;
}

const revocation = (teamId: string, tokenId: string) => ({
  data: revokeToken(teamId, tokenId),
  commandId: commandIdOf('TokenRevoked', teamId, tokenId),
});
