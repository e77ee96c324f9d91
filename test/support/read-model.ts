/** A read model that tests use directly, in its own database. */
import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { createReadModel } from '../../src/log/read-model.ts';
import { readModelSchema, readTablesSql } from '../../projections/models.ts';
import { Database } from '../../src/storage/database/database.ts';
import { createDatabase } from './postgres.ts';

/** Call these within tests. */
interface OwnReadModel {
  url(): string;
  database(): Database;
  /** Functions that close other things, the last one first, before the database is closed. */
  readonly closers: (() => Promise<unknown>)[];
}

/**
 * A read model at offset 0 of this many partitions: one for all tests of a file, or one for each test.
 * @param queryTimeout how long a statement may take, in milliseconds
 */
export function useReadModel(partitions: number, scope: 'file' | 'test', queryTimeout?: number): OwnReadModel {
  const closers: OwnReadModel['closers'] = [];
  let url: string | undefined;
  let database: Database | undefined;
  const [before, after] = scope === 'file' ? [beforeAll, afterAll] : [beforeEach, afterEach];
  before(async () => {
    const created = await createDatabase();
    closers.push(() => created.drop());
    ({ url } = created);
    const opened = (database = await Database.open({
      url,
      schema: readModelSchema,
      ...(queryTimeout && { queryTimeout }),
    }));
    closers.push(() => opened.close());
    await createReadModel(readTablesSql, opened, partitions);
  });
  after(async () => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  });
  return { url: () => url!, database: () => database!, closers };
}
