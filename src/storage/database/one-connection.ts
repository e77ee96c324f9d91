/**
 * Checks the rule that keeps pools alive: no task waits for a connection of a pool while it holds one of the same pool.
 * If every connection of a pool is held by a task that needs a second one, all of them wait for ever.
 *
 * A task that breaks the rule works until the pool is busy, so tests would not notice it. If `TABLOG_CHECK_CONNECTIONS`
 * is set, as in all tests, the pool refuses a second connection even if one is free.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';

/**
 * A connection that a task holds. `isOver` is true once the task gave it back: work that the task did not await may
 * still run.
 */
interface Hold {
  readonly pool: object;
  readonly outer: Hold | undefined;
  isOver: boolean;
}

const isChecked = process.env['TABLOG_CHECK_CONNECTIONS'] !== undefined;

const holds = new AsyncLocalStorage<Hold>();

/** A task that holds a connection of a pool asked for a second one. */
export class SecondConnection extends Error {
  override readonly name = 'SecondConnection';

  constructor() {
    super(
      'A task that holds a connection of a pool asked for a second one of the same pool. Such tasks can block each other for ever: pass the held connection on, or give it back first.',
    );
  }
}

/** If checks are on: throws SecondConnection when the current task holds a connection of the pool. */
export function refuseSecond(pool: object): void {
  if (!isChecked) return;
  for (let hold = holds.getStore(); hold !== undefined; hold = hold.outer) {
    if (hold.pool === pool && !hold.isOver) throw new SecondConnection();
  }
}

/** Runs `work` as a task that holds a connection of the pool. Settles as the work does. */
export async function whileHolding<T>(pool: object, work: () => Promise<T>): Promise<T> {
  if (!isChecked) return work();
  const hold: Hold = { pool, outer: holds.getStore(), isOver: false };
  try {
    return await holds.run(hold, work);
  } finally {
    hold.isOver = true;
  }
}

/** Lends a connection of the pool to a task. If the task fails, the connection is destroyed. */
export async function withConnection<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  refuseSecond(pool);
  const client = await pool.connect();
  try {
    const result = await whileHolding(pool, () => work(client));
    client.release();
    return result;
  } catch (error) {
    client.release(true);
    throw error;
  }
}
