/** What a test of kills kills: of all that it could, only the victim that VICTIM names, or a mix of them. */

export interface Victim {
  /** The name for VICTIM. */
  readonly name: string;
  /** How often it is killed in a mix, in relation to the others. */
  readonly weight: number;
}

/** The victim that VICTIM names, or all of them if it is not set. Throws when it names another one. */
export function chooseVictims<V extends Victim>(all: readonly V[]): readonly V[] {
  const name = process.env['VICTIM'];
  if (name === undefined) return all;
  const chosen = all.filter((victim) => victim.name === name);
  if (chosen.length === 0)
    throw new Error(`VICTIM=${name}: it must be one of ${all.map((victim) => victim.name).join(', ')}`);
  return chosen;
}

/** One of the victims, by weight. `random` gives numbers from 0 to 1. */
export function pickVictim<V extends Victim>(victims: readonly V[], random: () => number): V {
  let place = random() * victims.reduce((sum, { weight }) => sum + weight, 0);
  return victims.find(({ weight }) => (place -= weight) < 0) ?? victims.at(-1)!;
}
