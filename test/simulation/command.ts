/** A command of an operator that works beside the service for a while. Meanwhile it may be killed or paused. */
import type { Random } from '../support/random.ts';
import { readModelSchema } from '../../projections/models.ts';
import { Database } from '../../src/storage/database/database.ts';
import { clock, SimulatedProcess } from './clock.ts';
import { cutConnectionsOf } from './connections.ts';
import type { SimulatedDeployment } from './fault.ts';

export interface OperatorCommand {
  readonly name: string;
  readonly work: (process: SimulatedProcess, database: Database) => Promise<unknown>;
  /** Whether this error means that nothing was left to do. */
  readonly isDone?: (error: unknown) => boolean;
}

/** How often a command is interrupted at most, and how often a failing one is retried. */
const interruptionsMax = 3;
const attemptsMax = 100;

/**
 * Runs a command until it succeeds. Before that, it is killed a few times; each run continues what the previous one
 * began. Processes may be killed too.
 */
export async function runUntilDone(deployment: SimulatedDeployment, command: OperatorCommand): Promise<void> {
  const { places, random, problems } = deployment;
  const interruptions = random.below(interruptionsMax + 1);
  for (let attempt = 0; ; attempt += 1) {
    if (random.chance(0.2)) random.pick(places).kill();
    const ended = await run(
      random,
      command,
      attempt < interruptions ? random.between(1, random.pick([20, 200, 2000])) : null,
    );
    if (ended === 'done') return;
    if (attempt === attemptsMax) {
      problems.push(`${command.name} fails again and again: ${String(ended)}`);
      return;
    }
    await clock.sleep(random.between(100, 1500));
  }
}

/** Runs the command once, and kills it after this many milliseconds; null: does not kill it. */
async function run(
  random: Random,
  { name, work, isDone }: OperatorCommand,
  killedAfter: number | null,
): Promise<'done' | 'killed' | Error> {
  const process = new SimulatedProcess(name);
  const killed = Promise.withResolvers<'killed'>();
  if (killedAfter !== null) {
    clock.schedule(
      killedAfter,
      () => {
        process.kill();
        cutConnectionsOf(process);
        killed.resolve('killed');
      },
      null,
    );
  }
  if (random.chance(0.2)) {
    clock.schedule(
      random.between(0, 5000),
      () => {
        process.pause();
        clock.schedule(random.between(100, 20_000), () => process.resume(), null);
      },
      null,
    );
  }
  const running = process.run(async (): Promise<'done' | Error> => {
    const database = await Database.open({ url: '', schema: readModelSchema });
    try {
      await work(process, database);
      return 'done';
    } catch (error) {
      return isDone?.(error) === true ? 'done' : (error as Error);
    } finally {
      await database.close();
    }
  });
  return Promise.race([running, killed.promise]);
}
