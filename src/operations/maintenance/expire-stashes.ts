/**
 * Appends the expiry of stashes to the log, after which their contents may be removed. Any process may do it at any
 * time.
 */
import { expireStash } from '../../../commands/end-stash.ts';
import { commandIdOf } from '../../language/events/command-id.ts';
import { isNotHeld } from '../../log/quarantine/held-in-sql.ts';
import type { Database } from '../../storage/database/database.ts';
import type { EventLog } from '../../log/event-log.ts';
import { recordFacts } from '../../log/record-fact.ts';

/** The limit is per partition, so that a partition that accepts no events does not block the others. */
const stashesAtOnce = 20;

/**
 * How long after its deadline a stash is reported as expired, in milliseconds. An event that comes too early has no
 * effect, and this process's log clock may be ahead.
 */
const settleDelay = 60_000;

interface DueStash {
  readonly team_id: string;
  readonly stash_id: string;
  readonly created: string;
  /** The progress of its partition. */
  readonly next: string;
}

/**
 * Resolves to whether there may be more to expire. Tries all of them, then rejects as `EventLog.append` does if one
 * failed.
 */
export async function expireStashes(database: Database, log: EventLog, delay = settleDelay): Promise<boolean> {
  const { rows: due } = await database.pool.query<DueStash>(
    `select due.*, progress.next from progress cross join lateral (
        select team_id, stash_id, stashes.created from stashes join teams on teams.id = stashes.team_id
        where teams.partition = progress.partition and ${isNotHeld} and ended_at is null and expires_at < $1
        order by expires_at limit ${stashesAtOnce}
      ) due`,
    [log.now() - delay],
  );
  await recordFacts(
    log,
    due.map(({ team_id: teamId, stash_id: stashId, created, next }) => ({
      data: expireStash(teamId, stashId, BigInt(created)),
      // The progress is a part of the command ID, so that a retry after an event that came too early has a new one.
      commandId: commandIdOf('StashExpired', teamId, stashId, created, next),
    })),
  );
  return due.length > 0 && (await haveAnyEnded(database, due));
}

/**
 * Whether any of these stashes has ended. If none has, the events came too early, and retrying at once would not help.
 */
async function haveAnyEnded(database: Database, stashes: readonly DueStash[]): Promise<boolean> {
  const {
    rows: [found],
  } = await database.pool.query<{ left: number }>(
    `select count(*)::int4 as left from rows
    from (unnest($1::uuid[], $2::text[], $3::int8[])) as due(team_id, stash_id, created)
      join stashes using (team_id, stash_id, created) where ended_at is null`,
    [
      stashes.map((stash) => stash.team_id),
      stashes.map((stash) => stash.stash_id),
      stashes.map((stash) => stash.created),
    ],
  );
  return found!.left < stashes.length;
}
