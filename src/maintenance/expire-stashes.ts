/** Says in the log that the time of stashes is over, so that what they hold may be removed. Any process may, at any time. */
import { expireStash } from '../../commands/end-stash.ts';
import { appendNotices } from '../log/append-notices.ts';
import type { Database } from '../database/database.ts';
import type { EventLog } from '../log/event-log.ts';

/** Of each partition: one that takes no events holds up no other. */
const stashesAtOnce = 20;

/**
 * How long after its time a stash is said to have expired, in milliseconds: an event that says so too early says nothing, and
 * what this process takes for the log's time may be ahead of it.
 */
const settleDelay = 60_000;

interface DueStash {
  readonly team_id: string;
  readonly stash_id: string;
  readonly created: string;
  /** The progress of its partition. */
  readonly next: string;
}

/** Gives whether there may be more that it would end. Rejects as `EventLog.append` does, once all have been tried. */
export async function expireStashes(database: Database, log: EventLog, delay = settleDelay): Promise<boolean> {
  const { rows: due } = await database.pool.query<DueStash>(
    `select due.*, progress.next from progress cross join lateral (
        select team_id, stash_id, stashes.created from stashes join teams on teams.id = stashes.team_id
        where teams.partition = progress.partition and ended_at is null and expires_at < $1 order by expires_at limit ${stashesAtOnce}
      ) due`,
    [log.now() - delay],
  );
  await appendNotices(log, due.map(({ team_id: teamId, stash_id: stashId, created, next }) => ({
    // One that came too early is followed by another.
    data: expireStash(teamId, stashId, BigInt(created)), about: [teamId, stashId, created, next],
  })));
  return due.length > 0 && (await haveAnyEnded(database, due));
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
