/** Chooses the faults of a history: one, or several at once. */
import type { Random } from '../support/random.ts';
import { clock } from './clock.ts';
import type { SimulatedDeployment, SimulatedFault } from './fault.ts';
import { faults } from './faults.ts';

/** The proportion of histories with several faults. */
const severalProbability = 0.4;

/** The other faults begin within this time after the first one, in milliseconds. */
const beginsWithin = 2000;

/**
 * Draws the faults of a history. `only`: the names of the faults to draw one from; if omitted, all of them, and several
 * at once. Several faults use the deployment of the first.
 */
export function drawFaults(random: Random, only?: readonly string[]): readonly SimulatedFault[] {
  const first = random.pick(faults.filter(({ name }) => only === undefined || only.includes(name)));
  if (only !== undefined || !random.chance(severalProbability)) return [first];
  const drawn = [first];
  const count = 2 + random.below(2);
  // The first fault decides the deployment, so it may be any fault that others can join.
  while (first.overlaps !== 'none' && drawn.length < count) {
    const others = faults.filter(
      (fault) => fault.log === first.log && fault.overlaps === 'any' && drawn.every(({ name }) => name !== fault.name),
    );
    drawn.push(random.pick(others));
  }
  return drawn;
}

/** Lets all faults strike, each at its own time. Settles when all are over. */
export async function strikeAll(struck: readonly SimulatedFault[], deployment: SimulatedDeployment): Promise<void> {
  const { random } = deployment;
  await Promise.all(
    struck.map(async (fault) => {
      if (struck.length > 1) await clock.sleep(random.between(0, beginsWithin));
      await fault.strike(deployment);
    }),
  );
}
