import type { Versions } from '../progress/versions.ts';
import type { HeldTeams } from '../quarantine/held-teams.ts';

/** The inputs of decisions and look-ups of a partition besides its state. */
export interface Mark {
  readonly versions: Versions;
  readonly layout: bigint;
  /** Teams in quarantine: the projector does not load or decide their events. */
  readonly held: HeldTeams;
}
