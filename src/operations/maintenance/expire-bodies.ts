/**
 * Appends the expiry of bodies that clients never completed, so that they no longer count. Any process may do it at any
 * time.
 */
import { expireBody } from '../../../commands/receive-block.ts';
import { commandIdOf } from '../../language/events/command-id.ts';
import { bodyLife } from '../../../projections/segments/arrived-rows.ts';
import { isNotHeld } from '../../log/quarantine/held-in-sql.ts';
import type { Database } from '../../storage/database/database.ts';
import type { EventLog } from '../../log/event-log.ts';
import { recordFacts } from '../../log/record-fact.ts';

/** The limit is per partition, so that a partition that accepts no events does not block the others. */
const bodiesAtOnce = 100;

/**
 * How long after its deadline a body is reported as expired, in milliseconds. An event that comes too early has no
 * effect, and this process's log clock may be ahead.
 */
const settleDelay = 60_000;

/** Tries all of them, then rejects as `EventLog.append` does if one failed. */
export async function expireBodies(database: Database, log: EventLog, delay = settleDelay): Promise<void> {
  const { rows: due } = await database.pool.query<{ team_id: string; body_id: string; next: string }>(
    `select due.*, progress.next from progress cross join lateral (
        select team_id, body_id from open_bodies join teams on teams.id = open_bodies.team_id
        where teams.partition = progress.partition and ${isNotHeld} and opened_at < $1 order by opened_at
        limit ${bodiesAtOnce}
      ) due`,
    [log.now() - bodyLife - delay],
  );
  await recordFacts(
    log,
    due.map(({ team_id: teamId, body_id: bodyId, next }) => ({
      data: expireBody(teamId, bodyId),
      // The progress is a part of the command ID, so that a retry after an event that came too early has a new one.
      commandId: commandIdOf('BodyExpired', teamId, bodyId, next),
    })),
  );
}
