/** What a simulated deployment consists of besides the service. */
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
  readonly log: 'kafka' | 'postgres';
  readonly postgres: PostgresServer;
  /** How many places there are. */
  places: number;
  /** What is wrong in this history, one sentence each. */
  readonly problems: string[];
  readonly waits: Waits;
  /** Null when the log is in Postgres. */
  readonly kafka: { readonly brokers: Brokers; readonly group: ConsumerGroup } | null;
}

/** Makes an empty read model; one of this name is gone. */
export function createReadModel({ readModels }: PostgresServer, name: string): void {
  readModels.set(name, emptyReadModel());
}

/** An empty read model, and an empty log. */
export function newWorld(random: Random, log: 'kafka' | 'postgres'): World {
  const postgres = new PostgresServer(random);
  postgres.log.set('heads', rowsOfPartitions((partition) => ({ partition, next: 0n, time: 0 })));
  createReadModel(postgres, readModelSchema);
  const kafka = log === 'kafka' ? { brokers: new Brokers(random, partitions), group: new ConsumerGroup(random, partitions) } : null;
  return { random, log, postgres, places: 0, problems: [], waits: new Waits(), kafka };
}
