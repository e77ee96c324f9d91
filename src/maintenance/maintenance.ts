/**
 * What is done in the background: compaction and garbage collection of the read model; telling the log of the end of stashes and uploads, of files that
 * rows name, and of tokens that were revoked; removing files that were given up. A small step at a time and mostly at rest, so that requests
 * do not notice. One process at a time does it.
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
import { expireStashes } from './expire-stashes.ts';
import { tellRevocations } from './tell-revocations.ts';
import type { UploadMaintenance } from './upload-maintenance.ts';

/** How often old outcomes, and bytes of files that are nobody's, are looked for, in milliseconds. */
const rareInterval = 3_600_000;

/** Behind each step there is a rest of so many times what it took: at most a fifth of a connection is used. */
const restFactor = 4;

export interface MaintenanceOptions {
  readonly database: Database;
  readonly log: EventLog;
  readonly uploads: UploadMaintenance;
  readonly logger: Logger;
  /** How long to wait when there is nothing to be done, in milliseconds. */
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

  /** Works until nothing is left to be done, unless another process does. */
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
      this.#repeat(() => uploads.endDue()), this.#once(() => uploads.noteClaims()), this.#repeat(() => uploads.clear()),
    ]);
    if (performance.now() < this.#rareAt) return;
    const [orphansGoOn] = await Promise.all([this.#once(() => uploads.removeOrphans()), this.#repeat(() => removeRareGarbage(models, database))]);
    if (!orphansGoOn) this.#rareAt = performance.now() + rareInterval;
  }

  /** Does steps of one kind until one finds nothing to be done. */
  async #repeat(step: () => Promise<boolean>): Promise<void> {
    while (!this.#closing.signal.aborted && (await this.#once(step)));
  }

  /**
   * Does a step, and gives whether there is more of its kind. What fails keeps no other kind from being done. A kind that goes through
   * all there is does one in each round: a pass over a million files would hold all other kinds up.
   */
  async #once(step: () => Promise<boolean>): Promise<boolean> {
    try {
      const started = performance.now();
      const found = await step();
      await pause(restFactor * (performance.now() - started), this.#closing.signal);
      return found;
    } catch (error) {
      // The next round finds out whether that was all there is to it.
      this.#options.logger.warn({ err: error }, 'a step of the maintenance of the read model failed');
      return false;
    }
  }
}

async function takeLock(client: pg.PoolClient, schema: string): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1, hashtext($2)) as taken', [advisoryLocks.maintenance, schema]);
  return rows[0].taken;
}
