/** Creates and changes teams and their plans, for the command line and the routes of operators. */
import { randomUUIDv7 } from 'node:crypto';
import { createTeam } from '../../commands/teams.ts';
import type { TeamQueries, TeamSummary } from '../../projections/teams/teams.queries.ts';
import type { EventData, EventOf } from '../language/events/event.ts';
import type { EventLog } from '../log/event-log.ts';
import { recordFact } from '../log/record-fact.ts';

/** What changes to teams need. */
interface TeamsService {
  readonly log: EventLog;
  readonly teams: TeamQueries;
}

/**
 * The event that creates a team; `changeTeam` records it. Throws InvalidRequest for a name that is blank or too long.
 */
export function newTeam(name: string): EventOf<'TeamCreated'> {
  return createTeam(randomUUIDv7(), name);
}

/** Records a change to a team, or its creation. Resolves to the changed team. Rejects as `EventLog.append` does. */
export async function changeTeam(
  { log, teams }: TeamsService,
  event: EventData & { readonly teamId: string },
): Promise<TeamSummary> {
  await recordFact(log, event);
  return (await teams.team(event.teamId))!;
}

/**
 * `{id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax}`: sizes are in bytes, and a limit is null if there
 * is none.
 */
export function teamAsJson({ id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax }: TeamSummary): object {
  return { id, name, suspended, rows, rowsMax, uploadBytes, uploadBytesMax };
}
