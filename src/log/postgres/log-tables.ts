/**
 * The tables of a log in Postgres. They are the log, so they are kept, whatever happens to the read models beside them.
 */
import type pg from 'pg';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { inTransaction } from '../../storage/database/transaction.ts';

export const logSchema = 'tablog_log';

const statements = [
  // The next offset of each partition. An append locks the row of its partition, so offsets have no gaps and one order.
  `create table if not exists ${logSchema}.heads (
    partition smallint primary key,
    next bigint not null,
    time bigint not null
  ) with (fillfactor = 50)`,
  `create table if not exists ${logSchema}.records (
    partition smallint not null,
    log_offset bigint not null,
    time bigint not null,
    bytes bytea not null,
    primary key (partition, log_offset)
  )`,
  // The large parts of a record are already compressed.
  `alter table ${logSchema}.records alter column bytes set storage external`,
];

/**
 * The history of Postgres (src/storage/database/history.ts) in which the log was last written: one row, or none if it
 * was never recorded.
 */
const createHistory = `create table if not exists ${logSchema}.history (
  singleton boolean primary key default true check (singleton),
  name text not null
)`;

export const selectHistory = `select name from ${logSchema}.history`;
export const noteHistory = `insert into ${logSchema}.history (name) values ($1) on conflict (singleton) do update set name = excluded.name`;

/** Creates the tables, with empty partitions, unless they exist. */
export async function createLogTables(pool: pg.Pool, partitions: number): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1)', [advisoryLocks.createLog]);
    // Reads the catalog, because the connection may have cached, before it got the lock, that the schema does not
    // exist.
    const { rowCount } = await client.query('select from pg_namespace where nspname = $1', [logSchema]);
    if (rowCount === 0) await client.query(`create schema ${logSchema}`);
    // Logs of earlier versions do not have this table.
    await client.query(createHistory);
    const { rows } = await client.query(`select to_regclass('${logSchema}.records') as records`);
    if (rows[0].records !== null) return;
    for (const statement of statements) await client.query(statement);
    await client.query(
      `insert into ${logSchema}.heads (partition, next, time) select n, 0, 0 from generate_series(0, $1 - 1) n`,
      [partitions],
    );
  });
}
