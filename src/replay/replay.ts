/** Replaces the read model by one that is rebuilt from the log. */
import { readModelSchema } from '../../projections/models.ts';
import { ReadModelUse } from '../app/read-model-use.ts';
import { rebuild, type RebuildOptions } from './rebuild.ts';

export interface ReplayOptions extends Pick<RebuildOptions, 'url' | 'log' | 'batchEvents' | 'onProgress' | 'signal'> {
  /** The Postgres schema of the read model. */
  readonly schema?: string;
}

/**
 * Builds a read model beside the existing one, then swaps them atomically. Until then nothing changes, so it can be aborted at any
 * time. Rejects with ReadModelInUse while another process uses the read model, and as `rebuild` does. Resolves to the number of
 * events.
 */
export async function replay({ schema = readModelSchema, ...options }: ReplayOptions): Promise<number> {
  const rebuilt = `${schema}_rebuild`;
  const replaced = `${schema}_replaced`;
  const use = await ReadModelUse.exclude(options.url, schema);
  try {
    const events = await rebuild({ ...options, schema: rebuilt });
    await use.holding(async (client) => {
      // The rebuild did not wait for the disk. This commit does, and flushes everything written before it.
      await client.query('begin; set local synchronous_commit = on');
      await client.query(`drop schema if exists ${replaced} cascade`);
      const { rowCount } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
      if (rowCount !== 0) await client.query(`alter schema ${schema} rename to ${replaced}`);
      await client.query(`alter schema ${rebuilt} rename to ${schema}`);
      await client.query('commit');
      await client.query(`drop schema if exists ${replaced} cascade`);
    });
    return events;
  } finally {
    await use.end();
  }
}
