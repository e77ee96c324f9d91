/** A database with a log that a seed made, and the read model that came of it. */
import { createReadModel, readModelSchema } from '../../projections/read-model.ts';
import { Projector } from '../../projections/projector.ts';
import { Database } from '../../src/database/database.ts';
import { partitionCount, PostgresLog } from '../../src/log/postgres/postgres-log.ts';
import { createDatabase } from '../support/postgres.ts';
import { generateLog, type LogPlan } from './log-generator.ts';

export interface GeneratedLog {
  readonly url: string;
  readonly events: number;
  drop(): Promise<void>;
}

/** The seed of this run: SEED, or another one each time. It is printed, so that a failure can be had again. */
export function chooseSeed(): number {
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 32);
  process.stderr.write(`SEED=${seed}\n`);
  return seed;
}

/** Appends the events as the service does, each decided and stored with its batch. */
export async function createGeneratedLog(plan: LogPlan): Promise<GeneratedLog> {
  const { url, drop } = await createDatabase();
  const database = await openReadModel(url);
  try {
    await createReadModel(database, partitionCount);
    const log = logOf(database);
    await log.start(new AbortController().signal);
    const events = await generateLog(log, plan);
    await log.close();
    return { url, events, drop };
  } finally {
    await database.close();
  }
}

export function openReadModel(url: string): Promise<Database> {
  return Database.open({ url, schema: readModelSchema, synchronousCommit: false });
}

export function logOf(database: Database): PostgresLog {
  return new PostgresLog({
    database, projector: new Projector(), queueEventsMax: 1_000_000, queueBytesMax: 2 ** 32, unknownWait: 1000,
    onHalt: (partition, offset, error) => {
      throw new Error(`partition ${partition} has halted at ${offset}`, { cause: error });
    },
  });
}
