/** The models of the read model, one per line. Each model stands below the models whose states it reads. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { listModels, type QueriesOf, type StatesOf } from '../src/log/model.ts';
import { segments } from './segments/segments.model.ts';
import { stashes } from './stashes/stashes.model.ts';
import { tables } from './tables/tables.model.ts';
import { teams } from './teams/teams.model.ts';
import { uploads } from './uploads/uploads.model.ts';

export const models = listModels({ teams, segments, stashes, tables, uploads });

/**
 * The Postgres schema that this version of the code reads and writes. If the shape of any table changes, raise the
 * number. The read model is never migrated; the next start fills a new one from the log.
 */
export const readModelSchema = 'tablog_20';

/** The SQL of all tables. `npm run tables` writes this file, so that a process need not generate the SQL. */
export const tablesFile = join(import.meta.dirname, 'tables.sql');

/** The SQL that creates the tables of the read model. */
export function readTablesSql(): Promise<string> {
  return readFile(tablesFile, 'utf8');
}

/** The state of a batch, by model. */
export type States = StatesOf<typeof models>;

/** The queries of all models. */
export type Queries = QueriesOf<typeof models>;
