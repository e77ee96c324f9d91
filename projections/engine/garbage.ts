/**
 * Garbage collection: removes, in small transactions, rows that no client can read and no decision looks up any more. Each model
 * names the garbage of its tables.
 */
import type { Database } from '../../src/database/database.ts';
import type { Models, RemoveGarbage } from './model.ts';
import { outcomesKept } from './outcomes/recorded-outcome.ts';

/** How much one step removes at most: objects that own other rows, and plain rows. */
export const thingsAtOnce = 100;
export const rowsAtOnce = 2000;

/** Runs one step; resolves to whether it found garbage. `later`: pretend that it is this many milliseconds later. */
export async function removeGarbage(models: Models, database: Database, later = 0): Promise<boolean> {
  return firstThatFinds(Object.values(models).flatMap(({ garbage }) => garbage), database, later);
}

/** The same for garbage that only a scan of a whole table finds: run it rarely. */
export async function removeRareGarbage(models: Models, database: Database, later = 0): Promise<boolean> {
  const ofModels = Object.values(models).flatMap(({ rareGarbage = [] }) => rareGarbage);
  return firstThatFinds([removeOutcomes, ...ofModels], database, later);
}

async function firstThatFinds(steps: readonly RemoveGarbage[], database: Database, later: number): Promise<boolean> {
  for (const step of steps) {
    if ((await step(database, later)) > 0) return true;
  }
  return false;
}

/** Runs a statement; resolves to the number of rows affected. */
export async function removeRows(database: Database, text: string, values: readonly unknown[] = []): Promise<number> {
  const { rowCount } = await database.pool.query(text, [...values]);
  return rowCount ?? 0;
}

/** Outcomes have no index by time, which every request would have to maintain, so this may scan the whole table. */
const removeOutcomes: RemoveGarbage = (database, later) => removeRows(
  database,
  `delete from outcomes where ctid = any (array(
    select outcomes.ctid from outcomes join progress on progress.partition = outcomes.partition
    where outcomes.time < progress.time - $1 limit ${rowsAtOnce}))`,
  [outcomesKept - later],
);
