/** The victims of a test that kills processes: only the one that VICTIM names, or a mix. */

export interface Victim {
  /** The name for VICTIM. */
  readonly name: string;
  /** How often it is killed in a mix, relative to the others. */
  readonly weight: number;
}

/** The victim that VICTIM names, or all of them if VICTIM is not set. Throws if VICTIM names an unknown one. */
export function chooseVictims<V extends Victim>(all: readonly V[]): readonly V[] {
  const name = process.env['VICTIM'];
  if (name === undefined) return all;
  const chosen = all.filter((victim) => victim.name === name);
  if (chosen.length === 0)
    throw new Error(`VICTIM=${name}: it must be one of ${all.map((victim) => victim.name).join(', ')}`);
  return chosen;
}

/** One of the victims, by weight. `random` returns numbers from 0 to 1. */
export function pickVictim<V extends Victim>(victims: readonly V[], random: () => number): V {
  let place = random() * victims.reduce((sum, { weight }) => sum + weight, 0);
  return victims.find(({ weight }) => (place -= weight) < 0) ?? victims.at(-1)!;
}
