/** Which faults strike in a history: one, or several at once. */
import type { Random } from '../support/random.ts';
import { clock } from './clock.ts';
import type { SimulatedDeployment, SimulatedFault } from './fault.ts';
import { faults } from './faults.ts';

/** How many of the histories have several faults. */
const severalProbability = 0.4;

/** Within this time after the first fault the others begin, in milliseconds. */
const beginsWithin = 2000;

/**
 * Draws the faults of a history. `only`: the names of those to draw one from; all, and several at once, if omitted.
 * Several have the deployment of the first.
 */
export function drawFaults(random: Random, only?: readonly string[]): readonly SimulatedFault[] {
  const first = random.pick(faults.filter(({ name }) => only === undefined || only.includes(name)));
  if (only !== undefined || !random.chance(severalProbability)) return [first];
  const drawn = [first];
  const count = 2 + random.below(2);
  // The first decides where they strike, and may be any that others can come to.
  while (first.overlaps !== 'none' && drawn.length < count) {
    const others = faults.filter(
      (fault) => fault.log === first.log && fault.overlaps === 'any' && drawn.every(({ name }) => name !== fault.name),
    );
    drawn.push(random.pick(others));
  }
  return drawn;
}

/** All faults strike, each when it likes. Settles when all are over. */
export async function strikeAll(struck: readonly SimulatedFault[], deployment: SimulatedDeployment): Promise<void> {
  const { random } = deployment;
  await Promise.all(
    struck.map(async (fault) => {
      if (struck.length > 1) await clock.sleep(random.between(0, beginsWithin));
      await fault.strike(deployment);
    }),
  );
}
