/**
 * Appends the expiry of bodies that were never closed to the log, so that they count no more. Any process may, at any
 * time.
 */
import { expireBody } from '../../../commands/receive-block.ts';
import { commandIdOf } from '../../language/events/command-id.ts';
import { bodyLife } from '../../../projections/segments/arrived-rows.ts';
import { isNotHeld } from '../../log/quarantine/held-in-sql.ts';
import type { Database } from '../../storage/database/database.ts';
import type { EventLog } from '../../log/event-log.ts';
import { recordFacts } from '../../log/record-fact.ts';

/** Per partition: one that accepts no events does not block the others. */
const bodiesAtOnce = 100;

/**
 * As for stashes: an event that comes too early has no effect, and this process's log clock may be ahead. In
 * milliseconds.
 */
const settleDelay = 60_000;

/** Rejects as `EventLog.append` does, once all have been tried. */
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
      // The progress makes another command ID after an event that came too early.
      commandId: commandIdOf('BodyExpired', teamId, bodyId, next),
    })),
  );
}
