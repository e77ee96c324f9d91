/** What a simulated deployment consists of besides the service. */
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
  /** Where the log is, as the settings of all processes say. */
  log: LogKind;
  /** Whether the log may move. */
  readonly moves: boolean;
  readonly postgres: PostgresServer;
  /** How many places there are. */
  places: number;
  /** What is wrong in this history, one sentence each. */
  readonly problems: string[];
  readonly waits: Waits;
  /** Null where the log is in Postgres and stays there. */
  kafka: { readonly brokers: Brokers; readonly group: ConsumerGroup } | null;
}

/** Another topic, which is empty. Processes that use the one before go on to do so. */
export function newTopic(world: World): void {
  world.kafka = emptyTopic(world.random);
}

function emptyTopic(random: Random): World['kafka'] {
  return { brokers: new Brokers(random, partitions), group: new ConsumerGroup(random, partitions) };
}

/** Makes an empty read model; one of this name is gone. */
export function createReadModel({ readModels }: PostgresServer, name: string): void {
  readModels.set(name, emptyReadModel());
}

/** An empty read model, and an empty log; brokers too, if the log may `move`. */
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
