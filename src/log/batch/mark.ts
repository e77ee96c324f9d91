import type { Versions } from '../progress/versions.ts';
import type { HeldTeams } from '../quarantine/held-teams.ts';

/** What decisions and look-ups of a partition depend on, besides its state. */
export interface Mark {
  readonly versions: Versions;
  readonly layout: bigint;
  /** The teams whose events are held: they are neither loaded nor decided. */
  readonly held: HeldTeams;
}
