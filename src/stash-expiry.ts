/** Says in the log that the time of stashes is over, so that what they hold may be removed. Any process may, at any time. */
import { randomUUIDv7 } from 'node:crypto';
import { expireStash } from '../commands/end-stash.ts';
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

interface DueStash {
  readonly team_id: string;
  readonly stash_id: string;
  readonly created: string;
}

/** Gives whether there may be more that it would end. Rejects as `EventLog.append` does. */
export async function expireStashes(database: Database, log: EventLog, delay = settleDelay): Promise<boolean> {
  const { rows: due } = await database.pool.query<DueStash>(
    `select team_id, stash_id, created from stashes where ended_at is null and expires_at < $1 order by expires_at limit ${stashesAtOnce}`,
    [log.now() - delay],
  );
  await Promise.all(due.map(({ team_id: teamId, stash_id: stashId, created }) => {
    // A command of its own each time: one that came too early would have its outcome again, which was nothing.
    const event = encodeEvent({ commandId: randomUUIDv7(), notAfter: null, requestDigest: null }, expireStash(teamId, stashId, BigInt(created)));
    return log.append(partitionOf(teamId, log.partitions), event);
  }));
  return due.length === stashesAtOnce && (await haveAnyEnded(database, due));
}

/** Where none has, it was too early for all, and it would be for all of them again. */
async function haveAnyEnded(database: Database, stashes: readonly DueStash[]): Promise<boolean> {
  const { rows: [found] } = await database.pool.query<{ left: number }>(
    `select count(*)::int4 as left from rows from (unnest($1::uuid[], $2::text[], $3::int8[])) as due(team_id, stash_id, created)
      join stashes using (team_id, stash_id, created) where ended_at is null`,
    [stashes.map((stash) => stash.team_id), stashes.map((stash) => stash.stash_id), stashes.map((stash) => stash.created)],
  );
  return found!.left < stashes.length;
}
