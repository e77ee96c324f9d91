/** The parts of a simulated deployment besides the service. */
import type { LogKind } from '../../src/log/postgres/log-place.ts';
import { readModelSchema } from '../../projections/models.ts';
import type { Random } from '../support/random.ts';
import { Brokers } from './brokers.ts';
import { ConsumerGroup } from './consumer-group.ts';
import { partitions } from './partitions.ts';
import { PostgresServer } from './postgres.ts';
import { emptyReadModel, rowsOfPartitions } from './stored-rows.ts';
import { Waits } from './waits.ts';

export interface World {
  readonly random: Random;
  /** Where the log is, according to the settings of all processes. */
  log: LogKind;
  /** Whether the log may move. */
  readonly moves: boolean;
  readonly postgres: PostgresServer;
  /** How many places there are. */
  places: number;
  /** The problems in this history, one sentence each. */
  readonly problems: string[];
  readonly waits: Waits;
  /** Null if the log is in Postgres and stays there. */
  kafka: { readonly brokers: Brokers; readonly group: ConsumerGroup } | null;
}

/** Creates another, empty topic. Processes that use the former one go on using it. */
export function newTopic(world: World): void {
  world.kafka = emptyTopic(world.random);
}

function emptyTopic(random: Random): World['kafka'] {
  return { brokers: new Brokers(random, partitions), group: new ConsumerGroup(random, partitions) };
}

/** Creates an empty read model, and replaces any of this name. */
export function createReadModel({ readModels }: PostgresServer, name: string): void {
  readModels.set(name, emptyReadModel());
}

/** An empty read model and an empty log; also brokers, if the log may `move`. */
export function newWorld(random: Random, log: LogKind, moves: boolean): World {
  const postgres = new PostgresServer(random);
  postgres.log.set(
    'heads',
    rowsOfPartitions((partition) => ({ partition, next: 0n, time: 0 })),
  );
  createReadModel(postgres, readModelSchema);
  const kafka = log === 'kafka' || moves ? emptyTopic(random) : null;
  return { random, log, moves, postgres, places: 0, problems: [], waits: new Waits(), kafka };
}
