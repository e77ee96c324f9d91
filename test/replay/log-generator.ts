/**
 * Fills a log with what a seed says: every kind of event, refusals of every kind, repeated and late events, over several
 * teams that write at the same time.
 */
import type { EventLog } from '../../src/log/event-log.ts';
import { Random } from './random.ts';
import { rowsOf, sampleFiles, sampleNames } from './row-samples.ts';
import { TeamActor } from './team-actor.ts';

export interface LogPlan {
  readonly seed: number;
  readonly teams: number;
  /** About how many events each team appends, blocks not counted. */
  readonly eventsOfTeam: number;
  /** How many blocks of rows each team appends, and the rows of each. */
  readonly blocksOfTeam: number;
  readonly rowsOfBlock: number;
}

/** Resolves with the number of events that were appended. */
export async function generateLog(log: EventLog, plan: LogPlan): Promise<number> {
  const random = new Random(plan.seed);
  const blocks = await Promise.all(
    [...sampleNames, 'plain', 'plain', 'plain', 'plain'].map((name) => rowsOf(random, plan.rowsOfBlock, name as 'plain')),
  );
  const teams = Array.from({ length: plan.teams }, (_, team) => {
    const files = sampleFiles.filter((_, file) => file % plan.teams === team);
    return new TeamActor(log, random.below(2 ** 32), { blocks, files });
  });
  await Promise.all(teams.map((team) => team.run(plan)));
  return teams.reduce((sum, team) => sum + team.appended, 0);
}
