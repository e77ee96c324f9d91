/**
 * Removes the entries of ended indexes: those of removed keys and of replaced rows, and those that were prepared in
 * vain. Also removes what only preparations need.
 */
import { removeRows, rowsAtOnce, thingsAtOnce } from '../../../src/log/garbage.ts';
import type { RemoveGarbage } from '../../../src/log/model.ts';

export const dropEndedKeys: RemoveGarbage = async (database) => {
  const { rows } = await database.pool.query<{ table_id: string; since: string }>(
    'select table_id, since from ended_keys order by table_id, since limit 1',
  );
  for (const { table_id: tableId, since } of rows) {
    const dropped = await removeRows(
      database,
      // An event may have taken the index in between.
      `delete from row_keys where (table_id, since, hash) in (
        select table_id, since, hash from row_keys where table_id = $1 and since = $2 limit ${rowsAtOnce}
      ) and exists (select from ended_keys where table_id = $1 and since = $2)`,
      [tableId, since],
    );
    if (dropped === 0)
      await removeRows(database, 'delete from ended_keys where table_id = $1 and since = $2', [tableId, since]);
  }
  return rows.length;
};

/** How long nobody may have worked on a preparation until it is given up, in milliseconds by the clock of Postgres. */
const preparationLife = 3_600_000;

/** Ends preparations whose process has ended, and removes ended preparations. */
export const dropPreparations: RemoveGarbage = async (database, later) => {
  const givenUp = await removeRows(
    database,
    `with ended as (
      update key_preparations set is_taken = true where (table_id, since) in (
        select table_id, since from key_preparations
        where not is_taken and touched_at < now() - ($1 || ' ms')::interval
        order by touched_at limit ${thingsAtOnce} for update skip locked
      ) and not is_taken returning table_id, since
    ) insert into ended_keys (table_id, since) select table_id, since from ended on conflict do nothing`,
    [preparationLife - later],
  );
  const { rows } = await database.pool.query<{ table_id: string; since: string }>(
    'select table_id, since from key_preparations where is_taken order by touched_at limit 1',
  );
  for (const { table_id: tableId, since } of rows) {
    const dropped = await removeRows(
      database,
      `delete from prepared_places where (table_id, since, extent, first) in (
        select table_id, since, extent, first from prepared_places where table_id = $1 and since = $2
        limit ${rowsAtOnce})`,
      [tableId, since],
    );
    if (dropped === 0)
      await removeRows(database, 'delete from key_preparations where table_id = $1 and since = $2 and is_taken', [
        tableId,
        since,
      ]);
  }
  return givenUp + rows.length;
};
