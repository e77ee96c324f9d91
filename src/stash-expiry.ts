/** Says in the log that the time of stashes is over, so that what they hold may be removed. Any process may, at any time. */
import { expireStash } from '../commands/end-stash.ts';
import { commandIdOf } from './command-id.ts';
import type { Database } from './database/database.ts';
import { encodeEvent } from './events/event-codec.ts';
import type { EventLog } from './log/event-log.ts';
import { partitionOf } from './log/partition.ts';

const stashesAtOnce = 100;

/**
 * How long after its time a stash is said to have expired, in milliseconds: an event that says so too early says nothing, and
 * what this process takes for the log's time may be ahead of it.
 */
const settleDelay = 60_000;

/** Gives whether there may be more. Rejects as `EventLog.append` does. */
export async function expireStashes(database: Database, log: EventLog, delay = settleDelay): Promise<boolean> {
  const { rows } = await database.pool.query<{ team_id: string; stash_id: string; created: string }>(
    `select team_id, stash_id, created from stashes where ended_at is null and expires_at < $1 order by expires_at limit ${stashesAtOnce}`,
    [log.now() - delay],
  );
  await Promise.all(rows.map(({ team_id: teamId, stash_id: stashId, created }) => {
    // Two processes that see the same stash send the same command.
    const commandId = commandIdOf('StashExpired', teamId, stashId, created);
    const event = encodeEvent({ commandId, notAfter: null, requestDigest: null }, expireStash(teamId, stashId, BigInt(created)));
    return log.append(partitionOf(teamId, log.partitions), event);
  }));
  return rows.length === stashesAtOnce;
}
