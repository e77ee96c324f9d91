/** What a fault of a simulated history is: its deployment, the fault itself, and the checker that judges the history. */
import type { Random } from '../support/random.ts';
import { partitionOf } from '../../src/log/partition.ts';
import { findAmbiguities } from './ambiguities.ts';
import { findProblems, type History } from '../support/history.ts';
import type { SharedTable } from './clients.ts';
import { partitions } from './partitions.ts';
import { Place, type Role } from './place.ts';
import type { World } from './world.ts';

export interface Deployment {
  readonly world: World;
  readonly places: readonly Place[];
  readonly random: Random;
  readonly table: SharedTable;
  readonly problems: string[];
}

export interface Fault {
  readonly name: string;
  readonly log: 'kafka' | 'postgres';
  readonly places: (world: World) => readonly Place[];
  readonly strike: (deployment: Deployment) => Promise<void>;
  /** Whether nobody can write afterwards. */
  readonly isFinal?: true;
  /** What is wrong in the history. */
  readonly judge: (deployment: Deployment, history: History) => readonly string[];
}

export const nothingIsLost: Fault['judge'] = (_, history) => findProblems(history);

/** Acknowledged writes may be gone, but no version and no row ID means two things. */
export const nothingMeansTwoThings: Fault['judge'] = (_, { calls }) => findAmbiguities(calls);

export function placesOf(...roles: readonly Role[]): Fault['places'] {
  return (world) => roles.map((role) => new Place(world, role));
}

export const together = placesOf('all', 'all');
export const apart: Fault['places'] = (world) => (world.random.chance(0.5) ? together(world) : placesOf('api', 'api', 'projector', 'projector')(world));

/** Longer than a process takes to see how far the log goes, and a request to be answered, in milliseconds. */
export const quietFor = 3000;

/** The partition of the team that all clients write for. */
export function partitionOfClients({ table }: Deployment): number {
  return partitionOf(table.teamId, partitions);
}
