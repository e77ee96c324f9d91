/** Transactions on pooled connections, and the transaction statements for pipelined ones. */
import type pg from 'pg';
import { refuseSecond, whileHolding } from './one-connection.ts';
import type { PipelinedClient, Statement } from './pipelined-client.ts';

export const begin: Statement = { name: 'begin', text: 'begin' };
export const commit: Statement = { name: 'commit', text: 'commit' };
export const rollback: Statement = { name: 'rollback', text: 'rollback' };

/** Commits what `work` did, or rolls all of it back when that throws. */
export async function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  refuseSecond(pool);
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await whileHolding(pool, () => work(client));
    await client.query('commit');
    return result;
  } catch (error) {
    // If the connection failed there is nothing left to roll back, and the first error is the one to report.
    await client.query('rollback').catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

/** The same on a pipelined connection. The statements of `work` leave together with the first one that it waits for. */
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
