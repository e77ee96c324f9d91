/**
 * Compaction puts rows to where they are read fast: those that have to be converted are stored as they are presented, and
 * those of many small extents lie together. It changes only where bodies lie and in which form: never extents, indexes,
 * versions or changes (ARCHITECTURE.md, "Tables are segments, extents and changes").
 *
 * Each step writes a new segment first, which nobody sees, and has extents show it then, in a transaction of milliseconds.
 * That raises the layout of the partition, so that nothing is decided by what was remembered of the old place. The old
 * segment is left to garbage collection.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type pg from 'pg';
import type { Database } from '../../src/database/database.ts';
import { inTransaction } from '../../src/database/transaction.ts';
import { presenterOf, receivedForm } from '../../src/values/presentation.ts';
import { decodeSchema } from '../../src/values/table-schema.ts';
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

interface MovedExtent {
  readonly key: string;
  /** Where its rows were, and where they are now. */
  readonly segment: string;
  readonly first: number;
  readonly newFirst: number;
  /** The version under which the schema presents the bodies now; null: they were copied. */
  readonly presented: string | null;
}

/** The extents whose rows are not stored as their table presents them, of generations that are shown. Tails grow still. */
const selectUnpresented = `
  select extents.key, extents.segment, extents.first, extents.rows, extents.wrap, extents.cells, extents.schema_version, extents.presented,
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

async function convertExtent(database: Database): Promise<boolean> {
  const { rows: [extent] } = await database.pool.query(selectUnpresented);
  if (!extent) return false;
  const stored = await database.pool.query<{ index: number; version: string | null; body: string }>(
    `select index, version, body from segment_rows where segment = $1 and index >= $2 and index < $2 + $3::int4 order by index`,
    [extent.segment, extent.first, extent.rows],
  );
  const form = extent.presented === null ? receivedForm(extent.cells) : 'presented';
  const schema = decodeSchema(JSON.parse(extent.columns));
  const present = presenterOf(schema, BigInt(extent.presented ?? extent.schema_version), form, extent.wrap);
  const bodies: string[] = [];
  for (const [at, { body }] of stored.rows.entries()) {
    if (at % rowsAtOnce === rowsAtOnce - 1) await nextTurn();
    bodies.push(present(body));
  }
  const segment = await createSegment(database, extent.rows, async (client, key) => {
    await client.query(
      `insert into segment_rows (segment, index, version, body)
        select $1, index - $2::int4, version, body
        from rows from (unnest($3::int4[], $4::int8[]), string_to_table($5, E'\\n')) as given(index, version, body)`,
      [key, extent.first, stored.rows.map(({ index }) => index), stored.rows.map(({ version }) => version), bodies.join('\n')],
    );
    await copyBeside(client, key, [{ ...extent, newFirst: 0 }]);
  });
  await moveExtents(database, extent.partition, segment, [{ ...extent, newFirst: 0, presented: extent.read_by }]);
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
  const { rows: [table] } = await database.pool.query(selectScattered);
  if (!table) return false;
  const { rows: small } = await database.pool.query(selectSmall, [table.table_id]);
  const moved: MovedExtent[] = [];
  let [rows, bytes] = [0, 0];
  for (const extent of small) {
    if (rows + extent.rows > mergeRowsMax || bytes + extent.bytes > mergeBytesMax) break;
    moved.push({ ...extent, newFirst: rows, presented: null });
    rows += extent.rows;
    bytes += extent.bytes;
  }
  // Another overwrite, or the end of the table, has come meanwhile.
  if (moved.length < 2) return false;
  const segment = await createSegment(database, rows, async (client, key) => {
    await client.query(
      `insert into segment_rows (segment, index, version, body)
        select $1, stored.index - moved.first + moved.new_first, stored.version, stored.body
        from unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) as moved(key, segment, first, new_first)
        join extents on extents.key = moved.key
        join segment_rows stored on stored.segment = moved.segment and stored.index >= moved.first
          and stored.index < moved.first + extents.rows`,
      [key, ...columnsOf(moved)],
    );
    await copyBeside(client, key, moved);
  });
  await moveExtents(database, table.partition, segment, moved);
  return true;
}

/**
 * Writes a segment that nothing shows yet, and gives its key. That need not wait for the disk: the commit by which extents show it
 * flushes all that was written before it.
 */
async function createSegment(
  database: Database,
  rows: number,
  fill: (client: pg.PoolClient, key: string) => Promise<void>,
): Promise<string> {
  return inTransaction(database.pool, async (client) => {
    await client.query('set local synchronous_commit = off');
    // A key for itself out of the thousand that each value of the sequence stands for.
    const { rows: [{ key }] } = await client.query(`select nextval('local_keys') as key`);
    await client.query('insert into segments (key, rows) values ($1, $2)', [key, rows]);
    await fill(client, key);
    return key;
  });
}

/** Copies what is kept beside rows: the identities that they came with, and the files that they name. */
async function copyBeside(client: pg.PoolClient, key: string, moved: readonly MovedExtent[]): Promise<void> {
  await client.query(
    `insert into kept_ids (segment, index, id)
      select $1, kept.index - moved.first + moved.new_first, kept.id
      from unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) as moved(key, segment, first, new_first)
      join extents on extents.key = moved.key and extents.kept is not null
      join kept_ids kept on kept.segment = moved.segment and kept.index >= moved.first and kept.index < moved.first + extents.rows`,
    [key, ...columnsOf(moved)],
  );
  // All of them, whatever is read of the rows: compaction changes nothing of what a decision is made of.
  await client.query(
    `insert into file_references (team_id, file, segment, index)
      select named.team_id, named.file, $1, named.index - moved.first + moved.new_first
      from unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) as moved(key, segment, first, new_first)
      join extents on extents.key = moved.key
      join file_references named on named.segment = moved.segment and named.index >= moved.first
        and named.index < moved.first + extents.rows`,
    [key, ...columnsOf(moved)],
  );
}

/** Has extents show a segment from now on, unless something else has moved their rows meanwhile. */
async function moveExtents(database: Database, partition: number, segment: string, moved: readonly MovedExtent[]): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    // The lock that a projector takes first too, so that neither waits for the other in a circle.
    await client.query('update progress set layout = layout + 1 where partition = $1', [partition]);
    await client.query(
      `update extents set segment = $1, first = moved.new_first, presented = coalesce(moved.presented, extents.presented),
          merged = merged or moved.presented is null
        from unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[], $6::int8[])
          as moved(key, segment, first, new_first, presented)
        where extents.key = moved.key and extents.segment = moved.segment and extents.first = moved.first`,
      [segment, ...columnsOf(moved), moved.map(({ presented }) => presented)],
    );
    await client.query(
      `insert into segments (key, rows) select distinct on (segment) segment, 0 from unnest($1::int8[]) segment ${orIdleSince}`,
      [moved.map((extent) => extent.segment)],
    );
  });
}

function columnsOf(moved: readonly MovedExtent[]): unknown[][] {
  return [
    moved.map(({ key }) => key), moved.map(({ segment }) => segment), moved.map(({ first }) => first),
    moved.map(({ newFirst }) => newFirst),
  ];
}
