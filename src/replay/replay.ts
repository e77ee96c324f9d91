/** Replaces the read model by one that is rebuilt from the log. */
import { selectVersions } from '../../projections/engine/progress/progress.store.ts';
import { readModelSchema } from '../../projections/models.ts';
import { ReadModelUse } from '../app/read-model-use.ts';
import type { RecordLog } from '../log/event-log.ts';
import { nameEmptyPartitions } from '../log/identity.ts';
import { resumeLog } from '../log/resume.ts';
import { rebuild, type RebuildOptions } from './rebuild.ts';

export interface ReplayOptions extends Pick<RebuildOptions, 'url' | 'batchEvents' | 'onProgress' | 'signal'> {
  /** The Postgres schema of the read model. */
  readonly schema?: string;
  readonly log: RecordLog;
  /** Whether to begin anew, although an interrupted replay could be gone on with. */
  readonly fromStart?: boolean;
}

export interface Replayed {
  readonly events: number;
  /** The partitions whose log has lost events that the replaced read model had. The log was resumed after them. */
  readonly shortened: readonly number[];
}

/**
 * Builds a read model beside the existing one, then swaps them atomically. Until then the existing one does not change, so it can be
 * aborted at any time, and the next replay goes on; the log only gets its ID in partitions that are empty. If the log has lost events that the existing one has,
 * resumes the log, so that their versions are not given out again. Rejects with ReadModelInUse while another process uses the
 * read model, and as `rebuild` does.
 */
export async function replay({ schema = readModelSchema, fromStart = false, ...options }: ReplayOptions): Promise<Replayed> {
  const rebuilt = `${schema}_rebuild`;
  const replaced = `${schema}_replaced`;
  const use = await ReadModelUse.exclude(options.url, schema);
  try {
    // Before the log is resumed: the first record of a partition is its log's ID.
    await nameEmptyPartitions(options.log);
    const events = await rebuild({ ...options, schema: rebuilt, goesOn: !fromStart, collectsGarbage: true });
    const shortened = await use.holding(async (client) => {
      const after = await selectVersions(client, rebuilt);
      const { rowCount } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
      const before = rowCount === 0 ? after : await selectVersions(client, schema);
      // A log that lost events may have got others in their place since.
      const lost = before.flatMap(({ version, contradicted }, partition) => (contradicted || version > after[partition]!.version ? [partition] : []));
      // Before the swap: if this fails, the next replay does it again.
      const highest = before.map(({ version }, partition) => (version > after[partition]!.version ? version : after[partition]!.version));
      if (lost.length > 0) await resumeLog(options.log, highest);
      // The rebuild did not wait for the disk. This commit does, and flushes everything written before it.
      await client.query('begin; set local synchronous_commit = on');
      await client.query(`drop schema if exists ${replaced} cascade`);
      if (rowCount !== 0) await client.query(`alter schema ${schema} rename to ${replaced}`);
      await client.query(`alter schema ${rebuilt} rename to ${schema}`);
      await client.query('commit');
      await client.query(`drop schema if exists ${replaced} cascade`);
      return lost;
    });
    return { events, shortened };
  } finally {
    await use.end();
  }
}
