/** Rebuilds the read model from the log and replaces it while it serves. */
import pg from 'pg';
import { readModelSchema } from '../../../projections/models.ts';
import { ReadModelInUse } from '../../log/read-model-use.ts';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import type { RecordLog } from '../../log/event-log.ts';
import { nameEmptyPartitions } from '../../log/identity.ts';
import { endsOfLog, Rebuild, type RebuildOptions } from './rebuild.ts';
import { rebuildName } from './replay-progress.ts';
import { dropInSteps, replacedName, takeOverReadModel } from './take-over.ts';

export interface ReplayOptions extends Pick<RebuildOptions, 'url' | 'batchEvents' | 'onProgress' | 'signal'> {
  /** The Postgres schema of the read model. */
  readonly schema?: string;
  readonly log: RecordLog;
  /** Whether to start over instead of resuming an interrupted replay. */
  readonly fromStart?: boolean;
}

interface Replayed {
  readonly events: number;
  /** The partitions whose log has lost events that the replaced read model had. The log was resumed after them. */
  readonly shortened: readonly number[];
}

/**
 * Builds a read model beside the existing one, which serves meanwhile, and then puts it in its place. Until then the
 * existing one does not change, so a replay can be aborted at any time; the next one resumes it. Empty partitions of
 * the log get a record with the log's ID. If the log has lost events that the existing read model has, resumes the log.
 * Rejects with ReadModelInUse while another replay runs, and as `takeOverReadModel` does.
 */
export async function replay({
  schema = readModelSchema,
  fromStart = false,
  ...options
}: ReplayOptions): Promise<Replayed> {
  const { url, log } = options;
  const rebuilt = rebuildName(schema);
  const owner = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  owner.on('error', () => undefined);
  try {
    await owner.connect();
    const { rows } = await owner.query('select pg_try_advisory_lock($1) as taken', [advisoryLocks.replaceReadModel]);
    if (!rows[0].taken)
      throw new ReadModelInUse('another process rebuilds this read model already; wait for its end or stop it');
    // Remove the rest of a replaced read model, if a replay was interrupted while dropping it.
    await dropInSteps(url, replacedName(schema));
    // Before `takeOverReadModel` may resume the log: the first record of a partition must be the log's ID.
    await nameEmptyPartitions(log);
    const rebuilding = await Rebuild.begin({ ...options, schema: rebuilt, goesOn: !fromStart });
    try {
      await rebuilding.bringTo(await endsOfLog(log), true);
      const shortened = await takeOverReadModel(rebuilding, { url, log, schema, rebuilt, signal: options.signal });
      await dropInSteps(url, replacedName(schema));
      return { events: rebuilding.events, shortened };
    } finally {
      await rebuilding.close();
    }
  } finally {
    await owner.end();
  }
}
