/** Teams and their plans: what both the command line and the routes of operators do with them. */
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

/** A new team, to be recorded by `changeTeam`. Throws InvalidRequest for a name that is blank or too long. */
export function newTeam(name: string): EventOf<'TeamCreated'> {
  return createTeam(randomUUIDv7(), name);
}

/**
 * Records a change to a team, or its creation, and resolves to the team as it is then. Rejects as `EventLog.append`
 * does.
 */
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
