/**
 * The definition of a fault of simulated histories: its deployment, the fault itself, and the checker that judges the
 * history.
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
  /** The table of most calls. */
  readonly table: SharedTable;
  /** The tables of all teams. `table` is the first. */
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
   * `any`: it may strike together with any other fault. `as first`: it has its own deployment, and other faults may
   * join it there.
   */
  readonly overlaps: 'any' | 'as first' | 'none';
  /** The problems in the history. */
  readonly judge: (deployment: SimulatedDeployment, history: History) => readonly string[];
}

export const nothingIsLost: SimulatedFault['judge'] = (_, history) => findProblems(history);

/** Acknowledged writes may be gone, but no version and no row ID has two meanings. */
export const nothingMeansTwoThings: SimulatedFault['judge'] = (_, { calls }) => findAmbiguities(calls);

/** Nothing is lost, but a read may miss a very recent write of another version. */
export const readsMayBeOld: SimulatedFault['judge'] = (_, { calls, final }) =>
  findProblems({
    calls: calls.flatMap((call) => {
      const { operation } = call;
      if (operation.kind !== 'read' && operation.kind !== 'head') return call;
      // As if the read had been sent before everything else.
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

/** Longer than a process takes to read the end of the log and a request takes to be answered, in milliseconds. */
export const quietFor = 3000;

/** The partition of the team of most calls. */
export function partitionOfClients({ table }: SimulatedDeployment): number {
  return table.partition;
}
