/** Verifies that the read model is what the log says: rebuilds it beside the existing one, and compares the two. */
import pg from 'pg';
import { compareReadModels, type ComparedReadModels } from '../../projections/engine/compare/compare.ts';
import { Snapshot } from '../../projections/engine/compare/snapshot.ts';
import { models, readModelSchema } from '../../projections/models.ts';
import { advisoryLocks } from '../database/advisory-locks.ts';
import { ReadModelInUse, ReadModelUse } from '../app/read-model-use.ts';
import { Rebuild, type RebuildOptions } from './rebuild.ts';

export interface VerifyOptions extends Pick<RebuildOptions, 'url' | 'log' | 'batchEvents' | 'onProgress' | 'signal'> {
  /** The Postgres schema of the read model. */
  readonly schema?: string;
  /** For how long a snapshot is used, in milliseconds. */
  readonly snapshotMs?: number;
}

export interface Verification extends ComparedReadModels {
  readonly events: number;
}

/**
 * Compares the read model with one that is rebuilt from the log. It may be in use meanwhile: for each piece of the comparison the rebuilt
 * one is brought to the very offsets of a new snapshot. A snapshot keeps Postgres from removing dead rows, so none is open for long.
 * Rejects with NoReadModel, with ReadModelInUse when another verification runs, and as `Rebuild.bringTo` does.
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
    try {
      return await compareWithLog(schema, `${schema}_verify`, options);
    } finally {
      await owner.query(`drop schema if exists ${schema}_verify cascade`);
    }
  } finally {
    await Promise.all([owner.end(), use.end()]);
  }
}

async function compareWithLog(schema: string, rebuiltSchema: string, options: Omit<VerifyOptions, 'schema'>): Promise<Verification> {
  const { url, snapshotMs } = options;
  const present = (): Promise<ReadonlyMap<number, bigint>> => Snapshot.with(url, schema, (snapshot) => snapshot.progress());
  const first = await present();
  const rebuilding = await Rebuild.begin({ ...options, schema: rebuiltSchema });
  try {
    await rebuilding.bringTo(first);
    const compared = await compareReadModels(models, async (compare) => {
      // Most of what was written meanwhile, so that little is left to do while the snapshot is open.
      await rebuilding.bringTo(await present());
      return Snapshot.with(url, schema, async (live) => {
        await rebuilding.bringTo(await live.progress());
        return Snapshot.with(url, rebuiltSchema, (rebuilt) => compare(rebuilt, live), snapshotMs);
      }, snapshotMs);
    });
    return { events: rebuilding.events, ...compared };
  } finally {
    await rebuilding.close();
  }
}
