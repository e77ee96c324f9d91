/** Transactions on pooled connections, and the transaction statements for pipelined ones. */
import type pg from 'pg';
import { refuseSecond, whileHolding } from './one-connection.ts';
import type { PipelinedClient, Statement } from './pipelined-client.ts';

export const begin: Statement = { name: 'begin', text: 'begin' };
export const commit: Statement = { name: 'commit', text: 'commit' };
export const rollback: Statement = { name: 'rollback', text: 'rollback' };

/** Runs `work` in a transaction, which commits when `work` resolves and rolls back when it rejects. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  refuseSecond(pool);
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await whileHolding(pool, () => work(client));
    await client.query('commit');
    return result;
  } catch (error) {
    // If the connection failed, Postgres has rolled back already. Report the first error.
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

/**
 * Does the same on a pipelined connection. Statements of `work` are sent together until it first awaits one. Rejects
 * with an error if the commit became a rollback, because an earlier statement failed.
 */
export async function inPipelinedTransaction<T>(client: PipelinedClient, work: () => Promise<T>): Promise<T> {
  void client.query(begin);
  try {
    const result = await work();
    if ((await client.query(commit)).command !== 'COMMIT') throw new Error('the transaction was rolled back');
    return result;
  } catch (error) {
    if (!client.broken) await client.query(rollback);
    throw error;
  }
}
