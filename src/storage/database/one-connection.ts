/**
 * The rule that keeps pools alive: nobody waits for a connection of a pool while holding one of the same pool. As many
 * holders as the pool has connections, each of which needs a second one, wait for ever.
 *
 * A task that breaks the rule works until the pool is busy, so tests would not see it. Where `TABLOG_CHECK_CONNECTIONS`
 * is set, as in all tests, the second connection is refused even if the pool has one.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';

/** A connection that a task holds. What the task has begun and not awaited may outlive that. */
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
      'a task that holds a connection asked for a second one of the same pool, which can wait for ever: hand the connection on, or give it back first',
    );
  }
}

/** Throws SecondConnection if the present task holds a connection of the pool. */
export function refuseSecond(pool: object): void {
  if (!isChecked) return;
  for (let hold = holds.getStore(); hold !== undefined; hold = hold.outer) {
    if (hold.pool === pool && !hold.isOver) throw new SecondConnection();
  }
}

/** Does the work of a task that holds a connection of the pool. Settles as the work does. */
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
