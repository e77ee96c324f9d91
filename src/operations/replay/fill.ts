/**
 * Fills a read model before it serves: one of a new version, or one that was not used for long. It fills all partitions
 * at once and removes garbage meanwhile. If it is interrupted, the next fill continues from there. Another version may
 * serve from its own read model and append meanwhile.
 */
import pg from 'pg';
import { readProgress } from '../../log/progress/progress.store.ts';
import { ProjectionFailed } from '../../log/project-records.ts';
import { ProgressMoved } from '../../log/projector.ts';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { Database } from '../../storage/database/database.ts';
import { WrongLog } from '../../log/identity.ts';
import { pause } from '../../storage/pause.ts';
import { endsOfLog, leftMax, Rebuild, type RebuildOptions } from './rebuild.ts';

/** Interval between checks while another process fills the read model, in milliseconds. */
const lookInterval = 1000;

/**
 * Errors that end the fill without a message: the service opens the read model as it is, meets the same problem, and
 * reports it.
 */
const toldLater = [WrongLog, ProjectionFailed, ProgressMoved];

interface FillOptions extends Omit<RebuildOptions, 'schema' | 'goesOn'> {
  /** The database of the read model, which must exist. */
  readonly database: Database;
}

/**
 * Resolves to whether so many events are left to project that the read model must be filled before it serves. If so,
 * calls `onProgress` first.
 */
export async function isFarBehind({
  database,
  log,
  onProgress,
}: Pick<FillOptions, 'database' | 'log' | 'onProgress'>): Promise<boolean> {
  const sum = (offsets: Iterable<bigint>): number => Number([...offsets].reduce((total, offset) => total + offset, 0n));
  const events = sum((await readProgress(database.pool)).map(({ next }) => next));
  const ofEvents = sum((await endsOfLog(log)).values());
  if (ofEvents - events <= leftMax) return false;
  onProgress(events, ofEvents);
  return true;
}

/**
 * Brings the read model close to the end of the log, or waits until another process has done so. Rejects with the
 * reason of `signal` when it aborts, and when Postgres or Kafka cannot be reached.
 */
export async function fill(options: FillOptions): Promise<void> {
  const { url, database } = options;
  const owner = new pg.Client({
    connectionString: url,
    application_name: 'tablog fill',
    connectionTimeoutMillis: 5000,
    keepAlive: true,
  });
  // If the connection breaks, the query that runs on it fails, or the next one does.
  owner.on('error', () => undefined);
  try {
    await owner.connect();
    const epochs = await epochsOf(database);
    while (await untilAlone(owner, options)) {
      try {
        return await fillAlone(options);
      } catch (error) {
        // The progress may have moved because an operator's command also brings the read model to the end of its log.
        // With the log in Kafka that command takes the partitions over, which raises the epochs, and does all the rest.
        if (error instanceof ProgressMoved && (await epochsOf(database)) === epochs) continue;
        if (!toldLater.some((kind) => error instanceof kind)) throw error;
        return;
      }
    }
  } finally {
    await owner.end();
  }
}

/** Waits while another process fills the read model. Resolves to false if nothing is left to do. */
async function untilAlone(owner: pg.Client, options: FillOptions): Promise<boolean> {
  const { database, signal } = options;
  while (await isFarBehind(options)) {
    const { rows } = await owner.query('select pg_try_advisory_lock($1, hashtext($2)) as taken', [
      advisoryLocks.fillReadModel,
      database.schema,
    ]);
    if (rows[0].taken) return true;
    await pause(lookInterval, signal);
    signal.throwIfAborted();
  }
  return false;
}

async function fillAlone(options: FillOptions): Promise<void> {
  const { database, log } = options;
  const rebuilding = await Rebuild.resume({ ...options, schema: database.schema });
  try {
    await rebuilding.bringTo(await endsOfLog(log), true);
    await rebuilding.approachEnd();
    // The fill's commits did not wait for the disk. This one does, and flushes everything written before it.
    await database.pool.query('update progress set caught_up = caught_up');
  } finally {
    await rebuilding.close();
  }
}

async function epochsOf({ pool }: Database): Promise<string> {
  return (await readProgress(pool)).map(({ epoch }) => epoch).join(' ');
}
