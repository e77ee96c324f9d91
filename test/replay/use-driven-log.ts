import { afterAll, beforeAll } from '@jest/globals';
import { createReadModel } from '../../src/log/read-model.ts';
import { readTablesSql } from '../../projections/models.ts';
import { createDatabase } from '../support/postgres.ts';
import { DrivenLog } from './driven-team.ts';
import { openReadModel } from './generated-log.ts';

/** A log of twelve partitions in memory, with a database of its own; for all tests of a file. Call it within tests. */
export function useDrivenLog(): () => DrivenLog {
  let created: Awaited<ReturnType<typeof createDatabase>> | undefined;
  let log: DrivenLog | undefined;
  beforeAll(async () => {
    created = await createDatabase();
    log = new DrivenLog(await openReadModel(created.url));
    await createReadModel(readTablesSql, log.database, 12);
  });
  afterAll(async () => {
    await log?.database.close();
    await created?.drop();
  });
  return () => log!;
}
