/**
 * Background maintenance: runs the tasks of all features, such as compaction and garbage collection. It works in small
 * steps and mostly rests, so that it does not slow requests down. Only one process at a time does it.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { Database } from '../../storage/database/database.ts';
import { asLongWork } from '../../storage/database/long-work.ts';
import { pause } from '../../storage/pause.ts';
import { runRound, type MaintenanceObserver, type MaintenanceTask } from './round.ts';

/** Interval of rare tasks, in milliseconds. They first run one interval after the start. */
const rareInterval = 3_600_000;

/** How long a round goes on while a task finds something to do, in milliseconds. */
const roundMs = 60_000;

interface MaintenanceOptions {
  readonly database: Database;
  readonly tasks: readonly MaintenanceTask[];
  readonly logger: Logger;
  readonly observer: MaintenanceObserver;
  /** Pause when there is nothing to do, in milliseconds. */
  readonly interval: number;
}

export class Maintenance {
  readonly #options: MaintenanceOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #rareAt = performance.now() + rareInterval;

  constructor(options: MaintenanceOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { interval, logger } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await pause(interval, signal);
      if (signal.aborted) return;
      try {
        await this.#whileOnlyOne();
      } catch (error) {
        logger.warn({ err: error }, 'a round of maintenance of the read model failed; the next round tries again');
      }
    }
  }

  /** Works for a round, unless another process holds the lock. */
  async #whileOnlyOne(): Promise<void> {
    const { database } = this.#options;
    await database.withSession(async (client) => {
      if (!(await takeLock(client, database.schema))) {
        this.#options.observer.yielded();
        return;
      }
      try {
        await asLongWork(() => this.#work());
      } finally {
        // Release the lock now, so that another process can do the next round.
        await client.query('select pg_advisory_unlock($1, hashtext($2))', [advisoryLocks.maintenance, database.schema]);
      }
    });
  }

  async #work(): Promise<void> {
    const isRareDue = performance.now() >= this.#rareAt;
    const tasks = this.#options.tasks.filter(({ isRare = false }) => isRareDue || !isRare);
    const more = await runRound(tasks, {
      roundMs,
      signal: this.#closing.signal,
      observer: this.#options.observer,
      onFailure: (error, kind) =>
        this.#options.logger.warn(
          { err: error, kind },
          'a maintenance step of the read model failed; the next round tries again',
        ),
    });
    const isRareLeft = tasks.some(({ isRare = false }, at) => isRare && more[at]);
    if (isRareDue && !isRareLeft) this.#rareAt = performance.now() + rareInterval;
  }
}

async function takeLock(client: pg.ClientBase, schema: string): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1, hashtext($2)) as taken', [
    advisoryLocks.maintenance,
    schema,
  ]);
  return rows[0].taken;
}
