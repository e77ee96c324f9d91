/** A database with a log that a seed made, and the read model that came of it. */
import { pino } from 'pino';
import { createReadModel, readModelSchema } from '../../projections/read-model.ts';
import { Projector } from '../../projections/projector.ts';
import { Database } from '../../src/database/database.ts';
import { partitionCount } from '../../src/log/partition.ts';
import type { LogReader } from '../../src/log/event-log.ts';
import { PostgresLog } from '../../src/log/postgres/postgres-log.ts';
import { PostgresReader } from '../../src/log/postgres/postgres-reader.ts';
import { createDatabase } from '../support/postgres.ts';
import { generateLog, type LogPlan } from './log-generator.ts';

export interface GeneratedLog {
  readonly url: string;
  readonly log: LogReader;
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
    const log = await openLog(database);
    const events = await generateLog(log, plan);
    await log.close();
    const reader = await PostgresReader.open(url);
    return {
      url, log: reader, events,
      drop: async () => {
        await reader.close();
        await drop();
      },
    };
  } finally {
    await database.close();
  }
}

export function openReadModel(url: string): Promise<Database> {
  return Database.open({ url, schema: readModelSchema, synchronousCommit: false });
}

export function openLog(database: Database): Promise<PostgresLog> {
  return PostgresLog.open({
    database, projector: new Projector(), queueEventsMax: 1_000_000, queueBytesMax: 2 ** 32, unknownWait: 1000,
    logger: pino({ level: 'silent' }),
  }, new AbortController().signal);
}
