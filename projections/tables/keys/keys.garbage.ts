/** Removes the entries of ended indexes: those of removed keys and of replaced rows. */
import { removeRows, rowsAtOnce } from '../../../src/log/garbage.ts';
import type { RemoveGarbage } from '../../../src/log/model.ts';

export const dropEndedKeys: RemoveGarbage = async (database) => {
  const { rows } = await database.pool.query<{ table_id: string; since: string }>(
    'select table_id, since from ended_keys order by table_id, since limit 1',
  );
  for (const { table_id: tableId, since } of rows) {
    const dropped = await removeRows(
      database,
      `delete from row_keys where (table_id, since, hash) in (
        select table_id, since, hash from row_keys where table_id = $1 and since = $2 limit ${rowsAtOnce})`,
      [tableId, since],
    );
    if (dropped === 0)
      await removeRows(database, 'delete from ended_keys where table_id = $1 and since = $2', [tableId, since]);
  }
  return rows.length;
};
