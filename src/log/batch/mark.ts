import type { Versions } from '../progress/versions.ts';
import type { HeldTeams } from '../quarantine/held-teams.ts';

/** The inputs of decisions and look-ups of a partition besides its state. */
export interface Mark {
  readonly versions: Versions;
  readonly layout: bigint;
  /** The teams whose events are held. Held events are neither loaded nor decided. */
  readonly held: HeldTeams;
}
