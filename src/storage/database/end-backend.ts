import type { PipelinedClient, Statement } from './pipelined-client.ts';
import type { PipelinedPool } from './pipelined-pool.ts';
import { isStatementTimeout } from './statement-timeout.ts';

/**
 * Terminates the backend of a lost connection and waits, so that it cannot execute later what it was sent. $2, the
 * seconds since then, excludes a newer backend with the same process ID. No row: it is gone already; false: it is still
 * alive.
 */
export const endBackend: Statement<{ ended: boolean }> = {
  name: 'end_backend',
  text: `select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
    where pid = $1 and backend_start < clock_timestamp() - make_interval(secs => $2)`,
};

/**
 * Lends a connection. If a statement on it takes too long, and so is given up, its backend is ended: it would hold its
 * locks against the next attempt, and might yet commit. Rejects as `use` does; and, with an error that `isDatabaseAway`
 * recognizes, when Postgres does not answer any more, so that it was no fault of the statement.
 */
export async function withEndedBackend<T>(
  pool: PipelinedPool,
  use: (client: PipelinedClient) => Promise<T>,
): Promise<T> {
  // When it was lent: the connection, and so its backend, may have been made for this.
  let lent = null as { readonly client: PipelinedClient; readonly at: number } | null;
  try {
    return await pool.with((client) => {
      lent = { client, at: performance.now() };
      return use(client);
    });
  } catch (error) {
    if (lent?.client.broken && isStatementTimeout(error)) await endGivenUp(pool, lent.client.backendId, lent.at);
    throw error;
  }
}

/** `lentAt`: when the connection was lent, by `performance.now`. */
async function endGivenUp(pool: PipelinedPool, backendId: number, lentAt: number): Promise<void> {
  const ended = await pool
    .with((tx) => tx.query(endBackend, [backendId, (performance.now() - lentAt) / 1000]))
    .catch(() => null);
  if (ended === null || ended.rows[0]?.ended === false)
    throw new Error('Connection terminated, and Postgres does not say whether its backend has ended');
}
