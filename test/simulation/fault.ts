/**
 * What a fault of a simulated history is: its deployment, the fault itself, and the checker that judges the history.
 */
import type { Random } from '../support/random.ts';
import { findAmbiguities } from './ambiguities.ts';
import { findProblems, type History } from '../support/history.ts';
import type { Load, SharedTable } from './clients.ts';
import type { ProcessRole } from '../support/server.ts';
import { Place } from './place.ts';
import type { World } from './world.ts';

export interface SimulatedDeployment {
  readonly world: World;
  readonly places: readonly Place[];
  readonly random: Random;
  readonly load: Load;
  /** The table that most calls are about. */
  readonly table: SharedTable;
  /** The tables of all teams; that one is the first. */
  readonly tables: readonly SharedTable[];
  readonly problems: string[];
}

export interface SimulatedFault {
  readonly name: string;
  readonly log: 'kafka' | 'postgres';
  readonly places: (world: World) => readonly Place[];
  readonly strike: (deployment: SimulatedDeployment) => Promise<void>;
  /** Whether the log moves to the other place. */
  readonly moves?: true;
  /** Whether nobody can write to the partition of the clients afterwards. */
  readonly isFinal?: true;
  /**
   * `any`: it may strike while others do, whatever these are. `as first`: it has a deployment of its own, and such
   * others may come to it.
   */
  readonly overlaps: 'any' | 'as first' | 'none';
  /** What is wrong in the history. */
  readonly judge: (deployment: SimulatedDeployment, history: History) => readonly string[];
}

export const nothingIsLost: SimulatedFault['judge'] = (_, history) => findProblems(history);

/** Acknowledged writes may be gone, but no version and no row ID means two things. */
export const nothingMeansTwoThings: SimulatedFault['judge'] = (_, { calls }) => findAmbiguities(calls);

/** Nothing is lost, but a read may miss what was written just before: another version wrote it. */
export const readsMayBeOld: SimulatedFault['judge'] = (_, { calls, final }) =>
  findProblems({
    calls: calls.flatMap((call) => {
      const { operation } = call;
      if (operation.kind !== 'read' && operation.kind !== 'head') return call;
      // As if it had been asked for before everything else.
      return operation.kind === 'read' && operation.seen === null ? [] : { ...call, invoked: 0 };
    }),
    final,
  });

export function placesOf(...roles: readonly ProcessRole[]): SimulatedFault['places'] {
  return (world) => roles.map((role) => new Place(world, role));
}

export const together = placesOf('all', 'all');
export const apart: SimulatedFault['places'] = (world) =>
  world.random.chance(0.5) ? together(world) : placesOf('api', 'api', 'projector', 'projector')(world);

/** Longer than a process takes to see how far the log goes, and a request to be answered, in milliseconds. */
export const quietFor = 3000;

/** The partition of the team that most calls are about. */
export function partitionOfClients({ table }: SimulatedDeployment): number {
  return table.partition;
}
