/**
 * What is done for the read model in the background: compaction and sweeping, and the end of stashes whose time is over, a small step at a time and mostly at rest, so
 * that requests do not notice. One process at a time does it.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { compactOnce } from '../projections/segments/compaction.ts';
import { sweepOnce, sweepOutcomes } from '../projections/segments/sweeper.ts';
import type { Database } from './database/database.ts';
import type { EventLog } from './log/event-log.ts';
import { pause } from './pause.ts';
import { expireStashes } from './stash-expiry.ts';

/** Any number that nothing else in the database uses as the first of two of an advisory lock; the second is the read model's. */
export const upkeepLock = 7_460_231_004 % 2 ** 31;

/** How often old outcomes are looked for, in milliseconds. */
const outcomesInterval = 3_600_000;

/** Behind each step there is a rest of so many times what it took: at most a fifth of a connection is used. */
const restFactor = 4;

export interface UpkeepOptions {
  readonly database: Database;
  readonly log: EventLog;
  readonly logger: Logger;
  /** How long to wait when there is nothing to be done, in milliseconds. */
  readonly interval: number;
}

export class Upkeep {
  readonly #options: UpkeepOptions;
  readonly #closing = new AbortController();
  readonly #running: Promise<void>;
  #outcomesAt = performance.now() + outcomesInterval;

  constructor(options: UpkeepOptions) {
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
      try {
        await this.#whileOnlyOne();
      } catch (error) {
        logger.warn({ err: error }, 'there is no upkeep of the read model now');
      }
    }
  }

  /** Works until nothing is left to be done, unless another process does. */
  async #whileOnlyOne(): Promise<void> {
    const { database } = this.#options;
    const client = await database.pool.connect();
    try {
      if (!(await takeLock(client, database.schema))) return;
      try {
        await this.#work();
      } finally {
        await client.query('select pg_advisory_unlock($1, hashtext($2))', [upkeepLock, database.schema]);
      }
    } finally {
      client.release();
    }
  }

  async #work(): Promise<void> {
    const { database, log } = this.#options;
    await Promise.all([
      this.#repeat(() => compactOnce(database)), this.#repeat(() => sweepOnce(database)),
      this.#repeat(() => expireStashes(database, log)),
    ]);
    if (performance.now() < this.#outcomesAt) return;
    this.#outcomesAt = performance.now() + outcomesInterval;
    await this.#repeat(() => sweepOutcomes(database));
  }

  /** Does steps of one kind until one finds nothing to be done. What fails keeps no other kind from being done. */
  async #repeat(step: () => Promise<boolean>): Promise<void> {
    const { signal } = this.#closing;
    try {
      for (let found = true; found && !signal.aborted; ) {
        const started = performance.now();
        found = await step();
        await pause(restFactor * (performance.now() - started), signal);
      }
    } catch (error) {
      // The next round finds out whether that was all there is to it.
      this.#options.logger.warn({ err: error }, 'a step of the upkeep of the read model did not get through');
    }
  }
}

async function takeLock(client: pg.PoolClient, schema: string): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1, hashtext($2)) as taken', [upkeepLock, schema]);
  return rows[0].taken;
}
