/**
 * Garbage collection: removes what nobody can read any more and no decision looks up, in small transactions. Each model says what that is
 * for its tables.
 */
import type { Database } from '../../src/database/database.ts';
import type { Models, RemoveGarbage } from './model.ts';
import { outcomesKept } from './outcomes/recorded-outcome.ts';

/** How much one step removes at most: things that take others along, and rows that do not. */
export const thingsAtOnce = 100;
export const rowsAtOnce = 2000;

/** Does one step, and gives whether it found anything. `later`: as if it were so many milliseconds later than it is. */
export async function removeGarbage(models: Models, database: Database, later = 0): Promise<boolean> {
  return firstThatFinds(Object.values(models).flatMap(({ garbage }) => garbage), database, later);
}

/** The same for what costs a look at a whole table: to be done now and then only. */
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

/** Runs a statement, and gives how many rows it concerned. */
export async function removeRows(database: Database, text: string, values: readonly unknown[] = []): Promise<number> {
  const { rowCount } = await database.pool.query(text, [...values]);
  return rowCount ?? 0;
}

/** On outcomes there is no index by time that every request would have to keep up, so all of them may be looked at. */
const removeOutcomes: RemoveGarbage = (database, later) => removeRows(
  database,
  `delete from outcomes where ctid = any (array(
    select outcomes.ctid from outcomes join progress on progress.partition = outcomes.partition
    where outcomes.time < progress.time - $1 limit ${rowsAtOnce}))`,
  [outcomesKept - later],
);
