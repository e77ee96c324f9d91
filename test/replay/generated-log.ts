/** A database with a log generated from a seed, and the read model projected from it. */
import { pino } from 'pino';
import { createReadModel } from '../../src/log/read-model.ts';
import { readModelSchema, readTablesSql } from '../../projections/models.ts';
import { readConfig } from '../../src/app/config.ts';
import { Database } from '../../src/storage/database/database.ts';
import type { RecordLog } from '../../src/log/event-log.ts';
import { noLogObserver } from '../../src/log/log-observer.ts';
import { partitionCount } from '../../src/log/partition.ts';
import { openLog, openRecordLog } from '../../src/app/open-log.ts';
import { createLog } from '../support/deployment-kind.ts';
import { createDatabase } from '../support/postgres.ts';
import { generateLog, type LogPlan } from './log-generator.ts';

export interface GeneratedLog {
  readonly url: string;
  /** The environment variables with which the command line finds it. */
  readonly environment: Readonly<Record<string, string>>;
  readonly log: RecordLog;
  readonly events: number;
  drop(): Promise<void>;
}

/** No queue limits: the generator bounds its own concurrency. */
const unbounded = { APPEND_QUEUE_EVENTS_MAX: '1000000', APPEND_QUEUE_BYTES_MAX: String(2 ** 32) };

/** Appends the events as the service does, each decided and stored with its batch. */
export async function createGeneratedLog(plan: LogPlan): Promise<GeneratedLog> {
  const [created, home] = await Promise.all([createDatabase(), createLog()]);
  const { url } = created;
  const environment = { DATABASE_URL: url, ...home.environment };
  const config = readConfig({ ...environment, ...unbounded });
  const logger = pino({ level: 'silent' });
  const database = await openReadModel(url);
  try {
    await createReadModel(readTablesSql, database, partitionCount);
    const log = await openLog(config, database, {
      logger,
      projects: true,
      observer: noLogObserver,
      signal: new AbortController().signal,
    });
    await log.caughtUp();
    const events = await generateLog(log, plan);
    await log.close();
    const reader = await openRecordLog(config, url, logger);
    return {
      url,
      environment,
      log: reader,
      events,
      drop: async () => {
        await reader.close();
        await Promise.all([created.drop(), home.drop()]);
      },
    };
  } finally {
    await database.close();
  }
}

export function openReadModel(url: string): Promise<Database> {
  return Database.open({ url, schema: readModelSchema, synchronousCommit: false });
}
