/**
 * A trigger that refuses one kind of write to a table, for processes of any version. Creating and disabling the trigger
 * do not wait for transactions that only read the table. Dropping it would: a backup or a verification reads for
 * minutes.
 */
import type pg from 'pg';

const name = 'log_is_closed';

/**
 * Waits for the writes under way; after that each write of this kind runs the function `by`, which throws. `writes` is
 * the text of `create trigger` between its name and the table, and `each` the text after the table.
 */
export async function refuseWrites(
  client: pg.ClientBase,
  {
    writes,
    table,
    each,
    by,
  }: { readonly writes: string; readonly table: string; readonly each: string; readonly by: string },
): Promise<void> {
  await client.query(`create or replace trigger ${name} ${writes} on ${table} ${each} execute function ${by}()`);
  await client.query(`alter table ${table} enable trigger ${name}`);
}

/** Lets writes through again, if they were refused. */
export async function allowWrites(client: pg.ClientBase, table: string): Promise<void> {
  if (await areWritesRefused(client, table)) await client.query(`alter table ${table} disable trigger ${name}`);
}

export async function areWritesRefused(client: pg.ClientBase, table: string): Promise<boolean> {
  const { rowCount } = await client.query(
    `select from pg_trigger where tgrelid = $1::regclass and tgname = $2 and tgenabled <> 'D'`,
    [table, name],
  );
  return rowCount !== 0;
}
