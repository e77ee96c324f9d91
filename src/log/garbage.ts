/**
 * Garbage collection: removes, in small transactions, rows that no client can read and no decision looks up any more.
 * Each model names the garbage of its tables. An index finds each kind (docs/decisions/0040).
 */
import type { Database } from '../storage/database/database.ts';
import type { Garbage, Models, RemoveGarbage } from './model.ts';
import { outcomesKept } from './outcomes/recorded-outcome.ts';
import { garbageTimes } from './quarantine/held-in-sql.ts';

/** The maximum that one step removes: of objects that own other rows, and of plain rows. */
export const thingsAtOnce = 100;
export const rowsAtOnce = 2000;

/** All kinds of garbage, by name. */
export function garbageOf(models: Models): Garbage {
  return Object.assign({ outcomes: removeOutcomes }, ...Object.values(models).map(({ garbage }) => garbage));
}

/**
 * Runs a step of each kind, one after the other. Resolves to whether one of them found garbage. If a step fails, all
 * others still run; then rejects with the first error. `later`: pretend that it is this many milliseconds later.
 * `isFilled`: the read model is being filled from the log, and serves nobody.
 */
export async function removeGarbage(models: Models, database: Database, later = 0, isFilled = false): Promise<boolean> {
  let found = 0;
  const failures: unknown[] = [];
  for (const step of Object.values(garbageOf(models))) {
    try {
      found += await step(database, later, isFilled);
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

/**
 * The index has no partition column: with one, it would grow at as many places as there are partitions, and each write
 * would cost three times as much.
 */
export const outcomeStorage = 'create index outcomes_by_time on outcomes (time)';

/** If an outcome was replaced in the meantime, it has another time, and stays. */
const removeOutcomes: RemoveGarbage = (database, later) =>
  removeRows(
    database,
    `delete from outcomes using (
      select outcomes.ctid as place, outcomes.time from outcomes
      join ${garbageTimes} progress on progress.partition = outcomes.partition
      where outcomes.time < (select max(time) from progress) - $1 and outcomes.time < progress.time - $1
      order by outcomes.time limit ${rowsAtOnce}
    ) old
  where outcomes.ctid = old.place and outcomes.time = old.time`,
    [outcomesKept - later],
  );
