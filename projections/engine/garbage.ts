/**
 * Garbage collection: removes, in small transactions, rows that no client can read and no decision looks up any more. Each model
 * names the garbage of its tables.
 */
import type { Database } from '../../src/database/database.ts';
import type { Models, RemoveGarbage } from './model.ts';
import { outcomesKept } from './outcomes/recorded-outcome.ts';
import { garbageTimes } from './quarantine/held-in-sql.ts';

/** How much one step removes at most: objects that own other rows, and plain rows. */
export const thingsAtOnce = 100;
export const rowsAtOnce = 2000;

/**
 * Runs each step once; resolves to whether one of them found garbage. Rejects with the first error of a step, after all of them have had
 * their turn. `later`: pretend that it is this many milliseconds later.
 */
export async function removeGarbage(models: Models, database: Database, later = 0): Promise<boolean> {
  return runEach(Object.values(models).flatMap(({ garbage }) => garbage), database, later);
}

/** The same for garbage that only a scan of a whole table finds: run it rarely. */
export async function removeRareGarbage(models: Models, database: Database, later = 0): Promise<boolean> {
  const ofModels = Object.values(models).flatMap(({ rareGarbage = [] }) => rareGarbage);
  return runEach([removeOutcomes, ...ofModels], database, later);
}

/** A step that always finds something, or always fails, keeps no other from its turn. */
async function runEach(steps: readonly RemoveGarbage[], database: Database, later: number): Promise<boolean> {
  let found = 0;
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      found += await step(database, later);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return found > 0;
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
    select outcomes.ctid from outcomes join ${garbageTimes} progress on progress.partition = outcomes.partition
    where outcomes.time < progress.time - $1 limit ${rowsAtOnce}))`,
  [outcomesKept - later],
);
