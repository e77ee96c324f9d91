/** Verifies that the read model is what the log says: rebuilds it beside the existing one, and compares the two. */
import pg from 'pg';
import { compareReadModels, type ComparedReadModels } from '../../projections/engine/compare/compare.ts';
import { Snapshot } from '../../projections/engine/compare/snapshot.ts';
import { models, readModelSchema } from '../../projections/models.ts';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { ReadModelInUse, ReadModelUse } from '../app/read-model-use.ts';
import { rebuild, type RebuildOptions } from './rebuild.ts';

export interface VerifyOptions extends Pick<RebuildOptions, 'url' | 'log' | 'batchEvents' | 'onProgress' | 'signal'> {
  /** The Postgres schema of the read model. */
  readonly schema?: string;
}

export interface Verification extends ComparedReadModels {
  readonly events: number;
}

/**
 * Compares the read model with one rebuilt up to the very offsets that it has reached. It may be in use meanwhile: the comparison
 * uses a snapshot from the beginning. Rejects with NoReadModel, with ReadModelInUse when another verification or a replay runs, and
 * as `rebuild` does.
 */
export async function verify({ schema = readModelSchema, ...options }: VerifyOptions): Promise<Verification> {
  const { url } = options;
  const use = await ReadModelUse.share(url, schema);
  const owner = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  owner.on('error', () => undefined);
  try {
    await owner.connect();
    const { rows } = await owner.query('select pg_try_advisory_lock($1) as taken', [advisoryLocks.verify]);
    if (!rows[0].taken) throw new ReadModelInUse('another process verifies this read model already');
    const live = await Snapshot.open(url, schema);
    try {
      return await compareWithLog(live, `${schema}_verify`, options);
    } finally {
      await live.close();
      await owner.query(`drop schema if exists ${schema}_verify cascade`);
    }
  } finally {
    await Promise.all([owner.end(), use.end()]);
  }
}

async function compareWithLog(
  live: Snapshot,
  schema: string,
  options: Omit<VerifyOptions, 'schema'>,
): Promise<Verification> {
  const progress = await live.query<{ partition: number; next: bigint }>('select partition, next from progress order by partition');
  const events = await rebuild({ ...options, schema, until: new Map(progress.map(({ partition, next }) => [partition, next])) });
  const rebuilt = await Snapshot.open(options.url, schema);
  try {
    return { events, ...(await compareReadModels(models, rebuilt, live)) };
  } finally {
    await rebuilt.close();
  }
}
