/**
 * The log moves between Postgres and Kafka while clients write, and the command and the processes are killed at any
 * step.
 */
import { CannotMove, moveLog } from '../../src/administration/move-log.ts';
import { WrongLog } from '../../src/log/identity.ts';
import type { LogKind } from '../../src/log/postgres/log-place.ts';
import { clock } from './clock.ts';
import { runUntilDone } from './command.ts';
import { nothingIsLost, together, type SimulatedDeployment, type SimulatedFault } from './fault.ts';
import { openRecordsIn, resumeLog } from './operator.ts';
import { newTopic } from './world.ts';

/** How often the log moves at most, there and back. */
const movesMax = 3;

/** Moves the log to the other place, as `tablog log move` does, and changes the settings of all processes. */
async function move(deployment: SimulatedDeployment): Promise<void> {
  const { world } = deployment;
  const to: LogKind = world.log === 'kafka' ? 'postgres' : 'kafka';
  await runUntilDone(deployment, {
    name: `the move to ${to}`,
    work: async (process, database) => {
      try {
        await moveLog({
          database,
          to,
          signal: new AbortController().signal,
          onProgress: () => undefined,
          openLogs: async () => ({
            postgres: await openRecordsIn('postgres', world, process, database.pool),
            kafka: await openRecordsIn('kafka', world, process, database.pool),
          }),
        });
      } catch (error) {
        // The topic has records from after the log had moved away from it.
        if (to === 'kafka' && error instanceof WrongLog) newTopic(world);
        throw error;
      }
    },
    isDone: (error) =>
      error instanceof CannotMove && error.message.endsWith('already') && error.message.startsWith('the log is in'),
  });
  world.log = to;
}

export const moves: readonly SimulatedFault[] = (['kafka', 'postgres'] as const).map((log): SimulatedFault => ({
  name: 'the log moves',
  log,
  places: together,
  judge: nothingIsLost,
  overlaps: 'as first',
  moves: true,
  strike: async (deployment) => {
    const { world, random } = deployment;
    for (let count = random.below(movesMax); count >= 0; count -= 1) {
      await move(deployment);
      await clock.sleep(random.between(0, 8000));
      if (random.chance(0.3)) await resumeLog(world);
    }
  },
}));
