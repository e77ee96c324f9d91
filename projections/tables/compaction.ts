/**
 * Compaction puts rows to where they are read fast: those that have to be converted are stored as they are presented, and
 * those of many small extents lie together. It changes only where bodies lie and in which form: never which extents there are, nor indexes,
 * versions or changes (ARCHITECTURE.md, "What a table is made of").
 *
 * Each step writes a new segment first, which nobody sees, and has extents show it then, in a transaction of milliseconds.
 * That raises the layout of the partition, so that nothing is decided by what was remembered of the old place. The old
 * segment is left to garbage collection.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type pg from 'pg';
import type { Database } from '../../src/database/database.ts';
import { RowsStatement, type Parameters } from '../../src/database/rows-statement.ts';
import { inTransaction } from '../../src/database/transaction.ts';
import { presentersOf } from '../../src/values/presentation.ts';
import { decodeSchema } from '../../src/values/table-schema.ts';
import { formInSql, parseForm } from './stored-body.ts';
import { orIdleSince } from '../segments/segments.garbage.ts';

/** Extents of fewer bytes are small: many of them are merged. */
export const smallExtentBytes = 64 * 1024;

/** So many small extents of a table are worth it; a segment takes at most so many, rows and bytes. */
const mergeExtentsMin = 16;
const mergeExtentsMax = 500;
const mergeRowsMax = 10_000;
const mergeBytesMax = 1024 * 1024;

/** How many rows are converted before other work gets its turn. */
const rowsAtOnce = 200;

/** Does one step: converts one extent, or merges the small extents of one table. Gives whether there was anything to be done. */
export async function compactOnce(database: Database): Promise<boolean> {
  return (await convertExtent(database)) || (await mergeExtents(database));
}

/** An extent as compaction reads it. The driver gives whole numbers of 64 bits as texts. */
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
  /** The version under which the schema presents the bodies now; null: they were copied. */
  readonly presented: string | null;
}

/** The extents whose rows are not stored as their table presents them, of generations that are shown. Tails grow still. */
const selectUnpresented = `
  select extents.key, extents.segment, extents.first, extents.rows, ${formInSql('extents')} as form,
    tables.schema_version as read_by, schemas.columns, teams.partition
  from (
    select extents.* from tables join extents on extents.table_id = tables.id and extents.presented is null
      and extents.version >= tables.generation
    union all
    select extents.* from tables join extents on extents.table_id = tables.id and extents.presented < tables.widened
      and extents.version >= tables.generation
    where tables.widened > 0
  ) extents
  join tables on tables.id = extents.table_id and tables.generation = extents.generation and not tables.deleted
    and tables.tail is distinct from extents.key
  join teams on teams.id = tables.team_id
  join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
  where extents.rows > 0
  limit 1`;

interface UnpresentedExtent extends FoundExtent {
  readonly form: string;
  /** The version of the schema that it is read by, and its columns. */
  readonly read_by: string;
  readonly columns: string;
  readonly partition: number;
}

async function convertExtent(database: Database): Promise<boolean> {
  const { rows: [extent] } = await database.pool.query<UnpresentedExtent>(selectUnpresented);
  if (!extent) return false;
  const stored = await database.pool.query<{ index: number; version: string | null; body: string }>(
    `select index, version, body from segment_rows where segment = $1 and index >= $2 and index < $2 + $3::int4 order by index`,
    [extent.segment, extent.first, extent.rows],
  );
  const present = presentersOf(decodeSchema(JSON.parse(extent.columns)))(parseForm(extent.form));
  const bodies: string[] = [];
  for (const [at, { body }] of stored.rows.entries()) {
    if (at % rowsAtOnce === rowsAtOnce - 1) await nextTurn();
    bodies.push(present(body));
  }
  const moved = await createSegment(database, extent.rows, async (client, key) => {
    await client.query(
      `insert into segment_rows (segment, index, version, body)
        select $1, index - $2::int4, version, body
        from rows from (unnest($3::int4[], $4::int8[]), string_to_table($5, E'\\n')) as given(index, version, body)`,
      [key, extent.first, stored.rows.map(({ index }) => index), stored.rows.map(({ version }) => version), bodies.join('\n')],
    );
    return [{ ...extent, newSegment: key, newFirst: 0, presented: extent.read_by }];
  });
  await moveExtents(database, extent.partition, moved);
  return true;
}

/**
 * The table that has the most small extents, if they are many. The index alone tells which tables may have so many, and most
 * often that none has; only of those are the extents looked at that are shown.
 */
const selectScattered = `
  with candidates as materialized (
    select table_id from extents where not merged and bytes < ${smallExtentBytes} group by table_id having count(*) >= ${mergeExtentsMin}
  )
  select tables.id as table_id, teams.partition
  from candidates join tables on tables.id = candidates.table_id and not tables.deleted
  join teams on teams.id = tables.team_id
  cross join lateral (
    select count(*) as extents from extents where extents.table_id = tables.id and extents.generation = tables.generation
      and tables.tail is distinct from extents.key and not extents.merged and extents.bytes < ${smallExtentBytes}
  ) small
  where small.extents >= ${mergeExtentsMin} order by small.extents desc limit 1`;

/** What is a tail is told by the same statement: it grows until it closes, and never opens again. */
const selectSmall = `
  select extents.key, extents.segment, extents.first, extents.rows, extents.bytes
  from extents join tables on tables.id = extents.table_id and tables.generation = extents.generation and not tables.deleted
    and tables.tail is distinct from extents.key
  where not extents.merged and extents.bytes < ${smallExtentBytes} and extents.table_id = $1
  order by extents.version, extents.ordinal limit ${mergeExtentsMax}`;

async function mergeExtents(database: Database): Promise<boolean> {
  const { rows: [table] } = await database.pool.query<{ table_id: string; partition: number }>(selectScattered);
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
  // Another overwrite, or the end of the table, has come meanwhile.
  if (merged.length < 2) return false;
  const moved = await createSegment(database, rows, async (client, key) => {
    const moving = merged.map((extent) => ({ ...extent, newSegment: key, presented: null }));
    await run(client, copyRows, moving);
    return moving;
  });
  await moveExtents(database, table.partition, moved);
  return true;
}

/**
 * Writes a segment that nothing shows yet, with what is stored beside its rows. `fill` writes the rows, and gives the extents that they
 * are of. That need not wait for the disk: the commit by which extents show it flushes all that was written before it.
 */
async function createSegment(
  database: Database,
  rows: number,
  fill: (client: pg.PoolClient, key: string) => Promise<readonly MovedExtent[]>,
): Promise<readonly MovedExtent[]> {
  return inTransaction(database.pool, async (client) => {
    await client.query('set local synchronous_commit = off');
    // A key for itself out of the thousand that each value of the sequence stands for.
    const { rows: [next] } = await client.query<{ key: string }>(`select nextval('local_keys') as key`);
    await client.query('insert into segments (key, rows) values ($1, $2)', [next!.key, rows]);
    const moved = await fill(client, next!.key);
    await run(client, copyRetainedIds, moved);
    await run(client, copyFileReferences, moved);
    return moved;
  });
}

const movedParameters: Parameters<MovedExtent> = {
  key: 'int8', segment: 'int8', first: 'int4', rows: 'int4', newSegment: 'int8', newFirst: 'int4', presented: 'int8',
};

async function run(client: pg.PoolClient, statement: RowsStatement<MovedExtent>, moved: readonly MovedExtent[]): Promise<void> {
  const { statement: { text }, values } = statement.bind(moved);
  await client.query(text, [...values]);
}

/** The rows of a table of rows of segments that lie in extents which are moved. */
const inMoved = (alias: string): string => `${alias}.segment = moved.segment and ${alias}.index >= moved.first
  and ${alias}.index < moved.first + moved.rows`;

const copyRows = new RowsStatement<MovedExtent>('compact_rows', movedParameters, (moved) => `
  insert into segment_rows (segment, index, version, body)
  select moved.new_segment, stored.index - moved.first + moved.new_first, stored.version, stored.body
  from ${moved('moved')} join segment_rows stored on ${inMoved('stored')}`);

const copyRetainedIds = new RowsStatement<MovedExtent>('compact_retained_ids', movedParameters, (moved) => `
  insert into retained_ids (segment, index, id)
  select moved.new_segment, stored.index - moved.first + moved.new_first, stored.id
  from ${moved('moved')} join extents on extents.key = moved.key and extents.retained is not null
  join retained_ids stored on ${inMoved('stored')}`);

/** All of them, whatever is read of the rows: compaction changes nothing of what a decision is made of. */
const copyFileReferences = new RowsStatement<MovedExtent>('compact_file_references', movedParameters, (moved) => `
  insert into file_references (team_id, file, segment, index)
  select stored.team_id, stored.file, moved.new_segment, stored.index - moved.first + moved.new_first
  from ${moved('moved')} join file_references stored on ${inMoved('stored')}`);

const updateExtents = new RowsStatement<MovedExtent>('compact_extents', movedParameters, (moved) => `
  update extents set segment = moved.new_segment, first = moved.new_first, presented = coalesce(moved.presented, extents.presented),
    merged = merged or moved.presented is null
  from ${moved('moved')}
  where extents.key = moved.key and extents.segment = moved.segment and extents.first = moved.first`);

const insertIdle = new RowsStatement<MovedExtent>('compact_idle', movedParameters, (moved) => `
  insert into segments (key, rows) select distinct on (moved.segment) moved.segment, 0 from ${moved('moved')} ${orIdleSince}`);

/** Has extents show their rows where they are now, unless something else has moved them meanwhile. */
async function moveExtents(database: Database, partition: number, moved: readonly MovedExtent[]): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    // The lock that a projector takes first too, so that neither waits for the other in a circle.
    await client.query('update progress set layout = layout + 1 where partition = $1', [partition]);
    await run(client, updateExtents, moved);
    await run(client, insertIdle, moved);
  });
}
