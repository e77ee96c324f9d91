/**
 * Fills a log from a seed: every kind of event and of refusal, repeated and late events, by several teams that write
 * concurrently.
 */
import type { EventLog } from '../../src/log/event-log.ts';
import { Random } from '../support/random.ts';
import { rowsOf, sampleFiles, sampleNames } from './row-samples.ts';
import { TeamActor } from './team-actor.ts';

export interface LogPlan {
  readonly seed: number;
  readonly teams: number;
  /** About how many events each team appends, not counting blocks. */
  readonly eventsOfTeam: number;
  /** How many blocks of rows each team appends, and the rows of each. */
  readonly blocksOfTeam: number;
  readonly rowsOfBlock: number;
}

/** Resolves to the number of events appended. */
export async function generateLog(log: EventLog, plan: LogPlan): Promise<number> {
  const random = new Random(plan.seed);
  const blocks = await Promise.all(
    [...sampleNames, 'plain', 'plain', 'plain', 'plain'].map((name) =>
      rowsOf(random, plan.rowsOfBlock, name as 'plain'),
    ),
  );
  const teams = Array.from({ length: plan.teams }, (_, team) => {
    const files = sampleFiles.filter((_, file) => file % plan.teams === team);
    return new TeamActor(log, random.below(2 ** 32), { blocks, files });
  });
  await Promise.all(teams.map((team) => team.run(plan)));
  return teams.reduce((sum, team) => sum + team.appended, 0);
}
