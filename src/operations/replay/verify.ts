/** Checks the read model against the log: rebuilds it beside the existing one, and compares the two. */
import pg from 'pg';
import { compareReadModels, type ComparedReadModels } from '../../log/compare/compare.ts';
import { Snapshot } from '../../log/compare/snapshot.ts';
import { models, readModelSchema } from '../../../projections/models.ts';
import { advisoryLocks } from '../../storage/database/advisory-locks.ts';
import { ReadModelInUse, ReadModelUse } from '../../log/read-model-use.ts';
import { compareByDigest, type DigestComparison } from './compare-by-digest.ts';
import { Rebuild, type RebuildOptions } from './rebuild.ts';

interface VerifyOptions extends Pick<RebuildOptions, 'url' | 'log' | 'batchEvents' | 'onProgress' | 'signal'> {
  /** The Postgres schema of the read model. */
  readonly schema?: string;
  /**
   * Whether to continue the rebuilt read model of the last verification, to compare digests, and to keep the rebuilt
   * one for the next time. This reads only rows that have changed since. Otherwise the rebuilt read model is dropped.
   */
  readonly byDigest?: boolean;
  /** How long to use one snapshot, in milliseconds. */
  readonly snapshotMs?: number;
}

export interface Verification extends ComparedReadModels {
  readonly events: number;
  /** Present if digests were compared. `newEvents` is the number of events projected since the last verification. */
  readonly byDigest?: Omit<DigestComparison, 'differences'> & { readonly newEvents: number };
}

/**
 * Compares the read model with one that is rebuilt from the log. The read model may be in use meanwhile: for each piece
 * of the comparison, the rebuilt one is brought to exactly the offsets of a new snapshot. A snapshot keeps Postgres
 * from removing dead rows, so each one is short. Rejects with NoReadModel, with ReadModelInUse while another
 * verification runs, and as `Rebuild.bringTo` does.
 */
export async function verify({ schema = readModelSchema, ...options }: VerifyOptions): Promise<Verification> {
  const { url } = options;
  const use = await ReadModelUse.share(url, schema);
  const owner = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  owner.on('error', () => undefined);
  try {
    await owner.connect();
    const { rows } = await owner.query('select pg_try_advisory_lock($1) as taken', [advisoryLocks.verify]);
    if (!rows[0].taken)
      throw new ReadModelInUse('another process verifies this read model already; wait for its end or stop it');
    return options.byDigest === true
      ? await verifyByDigest(owner, schema, options)
      : await verifyAnew(owner, schema, options);
  } finally {
    await Promise.all([owner.end(), use.end()]);
  }
}

async function verifyAnew(
  owner: pg.Client,
  schema: string,
  options: Omit<VerifyOptions, 'schema'>,
): Promise<Verification> {
  const rebuilt = rebuiltName(schema);
  try {
    const first = await progressOf(options.url, schema);
    const rebuilding = await Rebuild.begin({ ...options, schema: rebuilt });
    try {
      await rebuilding.bringTo(first);
      return await compareWithLog(rebuilding, schema, rebuilt, options);
    } finally {
      await rebuilding.close();
    }
  } finally {
    await dropSchema(owner, rebuilt);
  }
}

/**
 * Compares digests. Keeps the rebuilt read model, also after an interruption. If there are differences, drops it,
 * because the rebuilt one may be at fault.
 */
async function verifyByDigest(
  owner: pg.Client,
  schema: string,
  options: Omit<VerifyOptions, 'schema'>,
): Promise<Verification> {
  const rebuilt = rebuiltName(schema);
  await dropOthers(owner, rebuilt);
  const first = await progressOf(options.url, schema);
  const rebuilding = await beginWithin(first, { ...options, schema: rebuilt });
  let verification: Verification;
  try {
    const before = rebuilding.events;
    await rebuilding.bringTo(first, true);
    await rebuilding.removeGarbage();
    const { differences, ...compared } = await compareByDigest(rebuilding, { ...options, schema, rebuilt });
    const found =
      differences.length === 0
        ? { differences, counts: {}, events: rebuilding.events }
        : await compareWithLog(rebuilding, schema, rebuilt, options);
    // If digests differ but no row does, the log did not cause the change that altered a stored digest. Report the
    // digests.
    const named = found.differences.length === 0 ? differences : found.differences;
    verification = { ...found, differences: named, byDigest: { ...compared, newEvents: found.events - before } };
  } finally {
    await rebuilding.close();
  }
  if (verification.differences.length > 0) {
    await dropSchema(owner, rebuilt);
    await owner.query(`delete from ${schema}.digests`);
  }
  return verification;
}

/**
 * Continues the rebuilt read model of the last verification. If that is further than the present read model, the latter
 * was restored since, so a new rebuild begins.
 */
async function beginWithin(progress: ReadonlyMap<number, bigint>, options: RebuildOptions): Promise<Rebuild> {
  const rebuilding = await Rebuild.begin({ ...options, goesOn: true });
  if ([...progress].every(([partition, next]) => rebuilding.endWithin(partition, next, next) === next))
    return rebuilding;
  await rebuilding.close();
  return Rebuild.begin(options);
}

async function compareWithLog(
  rebuilding: Rebuild,
  schema: string,
  rebuilt: string,
  { url, snapshotMs }: Pick<VerifyOptions, 'url' | 'snapshotMs'>,
): Promise<Verification> {
  const compared = await compareReadModels(models, async (compare) => {
    // Project most new events first, so that little is left to do while the snapshot is open.
    await rebuilding.bringTo(await progressOf(url, schema));
    return Snapshot.with(
      url,
      schema,
      async (live) => {
        await rebuilding.bringTo(await live.progress());
        return Snapshot.with(url, rebuilt, (expected) => compare(expected, live), snapshotMs);
      },
      snapshotMs,
    );
  });
  return { events: rebuilding.events, ...compared };
}

function rebuiltName(schema: string): string {
  return `${schema}_verify`;
}

function progressOf(url: string, schema: string): Promise<ReadonlyMap<number, bigint>> {
  return Snapshot.with(url, schema, (snapshot) => snapshot.progress());
}

async function dropSchema(owner: pg.Client, schema: string): Promise<void> {
  await owner.query(`drop schema if exists ${schema} cascade`);
}

/** Drops rebuilt read models that other versions kept. */
async function dropOthers(owner: pg.Client, rebuilt: string): Promise<void> {
  const { rows } = await owner.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspname ~ '^tablog_[0-9]+_verify$' and nspname <> $1`,
    [rebuilt],
  );
  for (const { name } of rows) await dropSchema(owner, name);
}
