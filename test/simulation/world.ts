/** What a simulated deployment consists of besides the service. */
import { allPartitions } from '../../src/log/partition.ts';
import type { Random } from '../support/random.ts';
import { Brokers } from './brokers.ts';
import { ConsumerGroup } from './consumer-group.ts';
import { partitions } from './partitions.ts';
import { PostgresServer } from './postgres.ts';
import type { Row } from './view.ts';

export interface World {
  readonly random: Random;
  readonly postgres: PostgresServer;
  /** How many places there are. */
  places: number;
  /** What is wrong in this history, one sentence each. */
  readonly problems: string[];
  /** Null when the log is in Postgres. */
  readonly kafka: { readonly brokers: Brokers; readonly group: ConsumerGroup } | null;
}

function rowsOfPartitions(row: (partition: number) => Row): Map<string, Row> {
  return new Map(allPartitions(partitions).map((partition) => [String(partition), row(partition)]));
}

/** Makes the read model empty. */
export function clearReadModel({ tables }: PostgresServer): void {
  for (const table of tables.keys()) if (!logTables.has(table)) tables.delete(table);
  tables.set('progress', rowsOfPartitions((partition) => ({
    partition, next: 0n, epoch: 0n, logId: null, base: 0n, gaps: '[]', layout: 0n, lastHash: null, time: 0, halted: null, contradicted: false, caughtUp: false, held: '{}',
  })));
}

const logTables = new Set(['heads', 'records', 'history']);

/** An empty read model, and an empty log. */
export function newWorld(random: Random, log: 'kafka' | 'postgres'): World {
  const postgres = new PostgresServer(random);
  clearReadModel(postgres);
  postgres.tables.set('heads', rowsOfPartitions((partition) => ({ partition, next: 0n, time: 0 })));
  const kafka = log === 'kafka' ? { brokers: new Brokers(random, partitions), group: new ConsumerGroup(random, partitions) } : null;
  return { random, postgres, places: 0, problems: [], kafka };
}
