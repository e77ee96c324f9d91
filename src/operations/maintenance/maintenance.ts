/**
 * Background maintenance: compacts the read model and collects its garbage; tells the log of stashes, bodies and
 * uploads that are over, of files that rows reference, and of revoked tokens; removes files that were given up, and
 * read models of earlier versions. It works in small steps and mostly rests, so that requests do not notice. Only one
 * process at a time does it.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import { garbageOf } from '../../log/garbage.ts';
import { models } from '../../../projections/models.ts';
import { convertExtent, mergeExtents } from '../../../projections/tables/compaction.ts';
import { UnconvertibleExtents } from '../../../projections/tables/unconvertible-extents.ts';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { Database } from '../../storage/database/database.ts';
import { asLongWork } from '../../storage/database/long-work.ts';
import type { EventLog } from '../../log/event-log.ts';
import { forgetJobs } from '../../api/jobs/job-notes.ts';
import { outcomeLife } from '../../log/outcomes/recorded-outcome.ts';
import { pause } from '../../storage/pause.ts';
import { runRound, type Kind, type MaintenanceObserver } from './round.ts';
import { expireBodies } from './expire-bodies.ts';
import { expireStashes } from './expire-stashes.ts';
import { removeSuperseded } from './remove-superseded.ts';
import { tellRevocations } from '../../administration/tell-revocations.ts';
import type { UploadMaintenance } from './upload-maintenance.ts';

/**
 * Interval of the search for old notes of jobs, for orphaned files and for read models of earlier versions, in
 * milliseconds. The first one is as long after the start.
 */
const rareInterval = 3_600_000;

/** How long a round goes on while a kind of work finds something to do, in milliseconds. */
const roundMs = 60_000;

export interface MaintenanceOptions {
  readonly database: Database;
  readonly log: EventLog;
  readonly uploads: UploadMaintenance;
  readonly logger: Logger;
  readonly observer: MaintenanceObserver;
  /** Pause when there is nothing to do, in milliseconds. */
  readonly interval: number;
}

export class Maintenance {
  readonly #options: MaintenanceOptions;
  readonly #closing = new AbortController();
  readonly #unconvertible = new UnconvertibleExtents();
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
      if (signal.aborted) return;
      try {
        await this.#whileOnlyOne();
      } catch (error) {
        logger.warn({ err: error }, 'maintenance of the read model has stopped until the next round');
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
        // At once: the next round may be that of another process.
        await client.query('select pg_advisory_unlock($1, hashtext($2))', [advisoryLocks.maintenance, database.schema]);
      }
    });
  }

  async #work(): Promise<void> {
    const isRareDue = performance.now() >= this.#rareAt;
    const often = this.#oftenDone();
    const more = await runRound([...often, ...(isRareDue ? this.#rarelyDone() : [])], {
      roundMs,
      signal: this.#closing.signal,
      observer: this.#options.observer,
      onFailure: (error, kind) =>
        this.#options.logger.warn({ err: error, kind }, 'a step of the maintenance of the read model failed'),
    });
    if (isRareDue && !more.slice(often.length).includes(true)) this.#rareAt = performance.now() + rareInterval;
  }

  #oftenDone(): Kind[] {
    const { database, log, uploads } = this.#options;
    return [
      { name: 'convert_rows', repeats: true, step: () => convertExtent(database, this.#unconvertible) },
      { name: 'merge_segments', repeats: true, step: () => mergeExtents(database) },
      ...Object.entries(garbageOf(models)).map(([name, remove]) => ({
        name,
        repeats: true,
        step: () => remove(database, 0),
      })),
      { name: 'expire_stashes', repeats: true, step: () => expireStashes(database, log) },
      { name: 'tell_revocations', repeats: true, step: () => tellRevocations(database, log) },
      { name: 'end_uploads', repeats: true, step: () => uploads.endDue() },
      { name: 'given_up_files', repeats: true, step: () => uploads.clear() },
      { name: 'note_claims', repeats: false, step: () => uploads.noteClaims() },
      {
        name: 'expire_bodies',
        repeats: false,
        step: async () => {
          await expireBodies(database, log);
          return false;
        },
      },
    ];
  }

  #rarelyDone(): Kind[] {
    const { database, log, uploads } = this.#options;
    return [
      { name: 'orphaned_files', repeats: false, step: () => uploads.removeOrphans() },
      { name: 'superseded_read_models', repeats: true, step: () => removeSuperseded(database.pool, database.schema) },
      { name: 'old_jobs', repeats: true, step: () => forgetJobs(database.pool, log.now() - outcomeLife) },
    ];
  }
}

async function takeLock(client: pg.ClientBase, schema: string): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1, hashtext($2)) as taken', [
    advisoryLocks.maintenance,
    schema,
  ]);
  return rows[0].taken;
}
