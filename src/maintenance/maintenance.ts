/**
 * Background maintenance: compacts the read model and collects its garbage; tells the log of stashes, bodies and uploads that are over, of
 * files that rows reference, and of revoked tokens; removes files that were given up. It works in small steps and mostly rests, so
 * that requests do not notice. Only one process at a time does it.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { removeGarbage, removeRareGarbage } from '../../projections/engine/garbage.ts';
import { models } from '../../projections/models.ts';
import { compactOnce } from '../../projections/tables/compaction.ts';
import { advisoryLocks } from '../database/advisory-locks.ts';
import type { Database } from '../database/database.ts';
import type { EventLog } from '../log/event-log.ts';
import { pause } from '../pause.ts';
import { expireBodies } from './expire-bodies.ts';
import { expireStashes } from './expire-stashes.ts';
import { tellRevocations } from './tell-revocations.ts';
import type { UploadMaintenance } from './upload-maintenance.ts';

/** Interval of the search for old outcomes and orphaned files, in milliseconds. */
const rareInterval = 3_600_000;

/** The pause after each step, as a multiple of its duration: each kind of work uses at most a fifth of a connection. */
const restFactor = 4;

export interface MaintenanceOptions {
  readonly database: Database;
  readonly log: EventLog;
  readonly uploads: UploadMaintenance;
  readonly logger: Logger;
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
    await this.#options.uploads.close();
  }

  async #run(): Promise<void> {
    const { interval, logger } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await pause(interval, signal);
      try {
        await this.#whileOnlyOne();
      } catch (error) {
        logger.warn({ err: error }, 'maintenance of the read model has stopped until the next round');
      }
    }
  }

  /** Works until nothing is left to do, unless another process holds the lock. */
  async #whileOnlyOne(): Promise<void> {
    const { database } = this.#options;
    const client = await database.pool.connect();
    try {
      if (!(await takeLock(client, database.schema))) return;
      try {
        await this.#work();
      } finally {
        await client.query('select pg_advisory_unlock($1, hashtext($2))', [advisoryLocks.maintenance, database.schema]);
      }
    } finally {
      client.release();
    }
  }

  async #work(): Promise<void> {
    const { database, log, uploads } = this.#options;
    await Promise.all([
      this.#repeat(() => compactOnce(database)), this.#repeat(() => removeGarbage(models, database)),
      this.#repeat(() => expireStashes(database, log)), this.#repeat(() => tellRevocations(database, log)),
      this.#once(async () => {
        await expireBodies(database, log);
        return false;
      }),
      this.#repeat(() => uploads.endDue()), this.#once(() => uploads.noteClaims()), this.#repeat(() => uploads.clear()),
    ]);
    if (performance.now() < this.#rareAt) return;
    const [orphansGoOn] = await Promise.all([this.#once(() => uploads.removeOrphans()), this.#repeat(() => removeRareGarbage(models, database))]);
    if (!orphansGoOn) this.#rareAt = performance.now() + rareInterval;
  }

  /** Repeats a step until it finds nothing to do. */
  async #repeat(step: () => Promise<boolean>): Promise<void> {
    while (!this.#closing.signal.aborted && (await this.#once(step)));
  }

  /**
   * Runs a step, and returns whether there is more of its kind. A failure does not stop the other kinds. A kind that scans
   * everything runs one step per round: a pass over a million files would block the others.
   */
  async #once(step: () => Promise<boolean>): Promise<boolean> {
    try {
      const started = performance.now();
      const found = await step();
      await pause(restFactor * (performance.now() - started), this.#closing.signal);
      return found;
    } catch (error) {
      // The next round tries again.
      this.#options.logger.warn({ err: error }, 'a step of the maintenance of the read model failed');
      return false;
    }
  }
}

async function takeLock(client: pg.PoolClient, schema: string): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1, hashtext($2)) as taken', [advisoryLocks.maintenance, schema]);
  return rows[0].taken;
}
