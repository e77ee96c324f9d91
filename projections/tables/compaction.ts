/**
 * Compaction moves rows to where they can be read fast: it stores rows that need conversion as they are presented, and
 * merges the rows of many small extents into one segment. It changes only where bodies are and in which form. It never
 * changes extents, indexes, versions or changes (ARCHITECTURE.md, "What a table is made of").
 *
 * Each step first writes a new segment, which nothing refers to yet. A transaction of a few milliseconds then repoints
 * extents to it, and raises the layout of the partition, which invalidates decisions based on the old places. Garbage
 * collection removes the old segment.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type pg from 'pg';
import type { Database } from '../../src/storage/database/database.ts';
import { RowsStatement, type Parameters } from '../../src/storage/database/rows-statement.ts';
import { inTransaction } from '../../src/storage/database/transaction.ts';
import { presenterOf } from '../../src/language/values/presentation.ts';
import { decodeSchema } from '../../src/language/values/table-schema.ts';
import { formInSql, presenterOfForm } from './read/stored-body.ts';
import { isShownAt, isShownNow, latest } from './read/table-at.ts';
import { erasedBody } from './replaced-bodies.garbage.ts';
import { UnconvertibleExtents } from './unconvertible-extents.ts';
import { orIdleSince } from '../segments/segments.garbage.ts';

/** Extents below this size are small: many of them are merged. */
export const smallExtentBytes = 64 * 1024;

/** How many small extents make a merge worthwhile, and how many extents, rows and bytes a merged segment may take. */
const mergeExtentsMin = 16;
const mergeExtentsMax = 500;
const mergeRowsMax = 10_000;
const mergeBytesMax = 1024 * 1024;

/** How many rows are converted before the event loop gets a turn. */
const rowsAtOnce = 200;

/** Runs a step of either kind. Resolves to whether there was any work. */
export async function compactOnce(database: Database): Promise<boolean> {
  return (await convertExtent(database, new UnconvertibleExtents())) || (await mergeExtents(database));
}

/** An extent as compaction reads it. The driver returns 64-bit integers as strings. */
interface FoundExtent {
  readonly key: string;
  readonly segment: string;
  readonly first: number;
  readonly rows: number;
}

interface MovedExtent extends FoundExtent {
  /** Where its rows are now. */
  readonly newSegment: string;
  readonly newFirst: number;
  /** The schema version under which the bodies are now presented; null: they were copied. */
  readonly presented: string | null;
}

/**
 * Extents of present generations whose rows are not stored as their table presents them. Tails are left out, because
 * they still grow.
 */
const selectUnpresented = `
  select extents.key, extents.segment, extents.first, extents.rows, ${formInSql('extents', 'extents.presented', latest.widened)} as form,
    tables.schema_version as read_by, schemas.columns, teams.partition
  from (
    select extents.* from tables join extents on extents.table_id = tables.id and extents.presented is null
      and extents.version >= tables.generation
    union all
    select extents.* from tables join extents on extents.table_id = tables.id and extents.presented < tables.widened
      and extents.version >= tables.generation
    where tables.widened > 0
  ) extents
  join tables on ${isShownNow}
    and tables.tail is distinct from extents.key
  join teams on teams.id = tables.team_id
  join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
  where extents.rows > 0 and extents.key <> all ($1::int8[])
  limit 1`;

interface UnpresentedExtent extends FoundExtent {
  readonly form: string;
  /** The present schema version of its table, and the columns of that schema. */
  readonly read_by: string;
  readonly columns: string;
  readonly partition: number;
}

/**
 * Stores the rows of one extent as they are presented. Resolves to whether there was such an extent. If a body cannot
 * be read, rejects and adds the extent to `unconvertible`, so that the next step leaves it alone.
 */
export async function convertExtent(database: Database, unconvertible: UnconvertibleExtents): Promise<boolean> {
  const {
    rows: [extent],
  } = await database.pool.query<UnpresentedExtent>(selectUnpresented, [unconvertible.keys()]);
  if (!extent) return false;
  const stored = await database.pool.query<{ index: number; version: string | null; body: string }>(
    `select index, version, body from segment_rows where segment = $1 and index >= $2 and index < $2 + $3::int4 order by index`,
    [extent.segment, extent.first, extent.rows],
  );
  const bodies = await presented(extent, stored.rows).catch((error: unknown) => {
    unconvertible.add(extent.key);
    throw new Error(`the rows of extent ${extent.key}, in segment ${extent.segment}, cannot be converted`, {
      cause: error,
    });
  });
  const moved = await createSegment(database, extent.rows, async (client, key) => {
    await client.query(
      `insert into segment_rows (segment, index, version, body)
        select $1, index - $2::int4, version, body
        from rows from (unnest($3::int4[], $4::int8[]), string_to_table($5, E'\\n')) as given(index, version, body)`,
      [
        key,
        extent.first,
        stored.rows.map(({ index }) => index),
        stored.rows.map(({ version }) => version),
        bodies.join('\n'),
      ],
    );
    return [{ ...extent, newSegment: key, newFirst: 0, presented: extent.read_by }];
  });
  await moveExtents(database, extent.partition, moved);
  return true;
}

/** The bodies as the table presents them. Rejects if one cannot be read. */
async function presented(
  { columns, form }: UnpresentedExtent,
  stored: readonly { readonly body: string }[],
): Promise<string[]> {
  const schema = decodeSchema(JSON.parse(columns));
  const present = presenterOfForm(form, (stored) => presenterOf(schema, stored));
  const bodies: string[] = [];
  for (const [at, { body }] of stored.entries()) {
    if (at % rowsAtOnce === rowsAtOnce - 1) await nextTurn();
    bodies.push(body === erasedBody ? erasedBody : present(body));
  }
  return bodies;
}

/**
 * The table with the most small extents, if it has enough to merge. The index alone yields the candidates, mostly none.
 * Only extents of candidates are read.
 */
const selectScattered = `
  with candidates as materialized (
    select table_id from extents where not merged and bytes < ${smallExtentBytes} group by table_id
    having count(*) >= ${mergeExtentsMin}
  )
  select tables.id as table_id, teams.partition
  from candidates join tables on tables.id = candidates.table_id and not tables.deleted
  join teams on teams.id = tables.team_id
  cross join lateral (
    select count(*) as extents from extents where ${isShownAt('extents', latest)}
      and tables.tail is distinct from extents.key and not extents.merged and extents.bytes < ${smallExtentBytes}
  ) small
  where small.extents >= ${mergeExtentsMin} order by small.extents desc limit 1`;

/**
 * One statement reads the extents and checks for the tail, because a tail grows until it closes. A closed tail never
 * opens again.
 */
const selectSmall = `
  select extents.key, extents.segment, extents.first, extents.rows, extents.bytes
  from extents join tables on ${isShownNow}
    and tables.tail is distinct from extents.key
  where not extents.merged and extents.bytes < ${smallExtentBytes} and extents.table_id = $1
  order by extents.version, extents.ordinal limit ${mergeExtentsMax}`;

/** Merges the small extents of one table. Resolves to whether there was one. */
export async function mergeExtents(database: Database): Promise<boolean> {
  const {
    rows: [table],
  } = await database.pool.query<{ table_id: string; partition: number }>(selectScattered);
  if (!table) return false;
  const { rows: small } = await database.pool.query<FoundExtent & { bytes: number }>(selectSmall, [table.table_id]);
  const merged: (FoundExtent & { newFirst: number })[] = [];
  let [rows, bytes] = [0, 0];
  for (const extent of small) {
    if (rows + extent.rows > mergeRowsMax || bytes + extent.bytes > mergeBytesMax) break;
    merged.push({ ...extent, newFirst: rows });
    rows += extent.rows;
    bytes += extent.bytes;
  }
  // An overwrite or the deletion of the table came first.
  if (small.length < 2) return false;
  if (merged.length < 2) {
    // This extent and the next one together exceed a limit. Without this mark, each step would find them again, and
    // would reach no other table.
    await database.pool.query('update extents set merged = true where key = $1', [small[0]!.key]);
    return true;
  }
  const moved = await createSegment(database, rows, async (client, key) => {
    const moving = merged.map((extent) => ({ ...extent, newSegment: key, presented: null }));
    await run(client, copyRows, moving);
    return moving;
  });
  await moveExtents(database, table.partition, moved);
  return true;
}

/**
 * Writes a segment that nothing refers to yet, with the retained IDs and file references of its rows. `fill` writes the
 * rows and returns their extents. The transaction commits without a flush: the later commit that repoints the extents
 * flushes everything written before it.
 */
async function createSegment(
  database: Database,
  rows: number,
  fill: (client: pg.PoolClient, key: string) => Promise<readonly MovedExtent[]>,
): Promise<readonly MovedExtent[]> {
  return inTransaction(database.pool, async (client) => {
    await client.query('set local synchronous_commit = off');
    // Uses one key of the thousand that each value of the sequence reserves.
    const {
      rows: [next],
    } = await client.query<{ key: string }>(`select nextval('local_keys') as key`);
    await client.query('insert into segments (key, rows) values ($1, $2)', [next!.key, rows]);
    const moved = await fill(client, next!.key);
    await run(client, copyRetainedIds, moved);
    await run(client, copyFileReferences, moved);
    return moved;
  });
}

const movedParameters: Parameters<MovedExtent> = {
  key: 'int8',
  segment: 'int8',
  first: 'int4',
  rows: 'int4',
  newSegment: 'int8',
  newFirst: 'int4',
  presented: 'int8',
};

async function run(
  client: pg.PoolClient,
  statement: RowsStatement<MovedExtent>,
  moved: readonly MovedExtent[],
): Promise<void> {
  const {
    statement: { text },
    values,
  } = statement.bind(moved);
  await client.query(text, [...values]);
}

/** SQL: whether a row of `alias`, a table keyed by segment and index, belongs to a moved extent. */
const inMoved = (alias: string): string => `${alias}.segment = moved.segment and ${alias}.index >= moved.first
  and ${alias}.index < moved.first + moved.rows`;

const copyRows = new RowsStatement<MovedExtent>(
  'compact_rows',
  movedParameters,
  (moved) => `
  insert into segment_rows (segment, index, version, body)
  select moved.new_segment, stored.index - moved.first + moved.new_first, stored.version, stored.body
  from ${moved('moved')} join segment_rows stored on ${inMoved('stored')}`,
);

const copyRetainedIds = new RowsStatement<MovedExtent>(
  'compact_retained_ids',
  movedParameters,
  (moved) => `
  insert into retained_ids (segment, index, id)
  select moved.new_segment, stored.index - moved.first + moved.new_first, stored.id
  from ${moved('moved')} join extents on extents.key = moved.key and extents.retained is not null
  join retained_ids stored on ${inMoved('stored')}`,
);

/** Copies all file references of the rows: compaction must not change what decisions read. */
const copyFileReferences = new RowsStatement<MovedExtent>(
  'compact_file_references',
  movedParameters,
  (moved) => `
  insert into file_references (team_id, file, segment, index)
  select stored.team_id, stored.file, moved.new_segment, stored.index - moved.first + moved.new_first
  from ${moved('moved')} join file_references stored on ${inMoved('stored')}`,
);

const updateExtents = new RowsStatement<MovedExtent>(
  'compact_extents',
  movedParameters,
  (moved) => `
  update extents set segment = moved.new_segment, first = moved.new_first, presented = coalesce(moved.presented,
  extents.presented),
    merged = merged or moved.presented is null, erased = 0
  from ${moved('moved')}
  where extents.key = moved.key and extents.segment = moved.segment and extents.first = moved.first`,
);

const insertIdle = new RowsStatement<MovedExtent>(
  'compact_idle',
  movedParameters,
  (moved) => `
  insert into segments (key, rows) select distinct on (moved.segment) moved.segment, 0 from ${moved('moved')} ${orIdleSince}`,
);

/** Repoints extents to the new places of their rows, except extents that were moved in the meantime. */
async function moveExtents(database: Database, partition: number, moved: readonly MovedExtent[]): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    // Projectors lock this row first too, which prevents deadlocks.
    await client.query('update progress set layout = layout + 1 where partition = $1', [partition]);
    await run(client, updateExtents, moved);
    await run(client, insertIdle, moved);
  });
}
