import type { PipelinedClient, Statement } from './pipelined-client.ts';
import type { PipelinedPool } from './pipelined-pool.ts';
import { isStatementTimeout } from './statement-timeout.ts';

/**
 * Terminates the backend of a lost connection and waits up to 5 s for its end, so that the backend cannot execute a
 * statement late. $1 is the process ID. $2 is the number of seconds since the connection was lent; it excludes a newer
 * backend with the same process ID. No row: the backend is gone already; false: it is still alive.
 */
export const endBackend: Statement<{ ended: boolean }> = {
  name: 'end_backend',
  text: `select pg_terminate_backend(pid, 5000) as ended from pg_stat_activity
    where pid = $1 and backend_start < clock_timestamp() - make_interval(secs => $2)`,
};

/**
 * Lends a connection to `use`. If a statement on it exceeds its time limit, this function terminates its backend, which
 * could otherwise block the next attempt with its locks, or still commit. Rejects as `use` does. If Postgres does not
 * confirm that the backend ended, rejects with an error that `isDatabaseAway` recognizes: then the server is at fault,
 * not the statement.
 */
export async function withEndedBackend<T>(
  pool: PipelinedPool,
  use: (client: PipelinedClient) => Promise<T>,
): Promise<T> {
  // Take the time only once the connection is lent: its backend may have been started for this call.
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
