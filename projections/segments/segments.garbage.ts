/**
 * Garbage collection of segments: blocks of bodies that were never closed, rows of segments that readers cannot reach,
 * and segments of failed attempts.
 */
import type { Database } from '../../src/storage/database/database.ts';
import { removeRows, thingsAtOnce } from '../../src/log/garbage.ts';
import type { Garbage, RemoveGarbage } from '../../src/log/model.ts';
import { oldestOfPartitions } from '../../src/log/quarantine/held-in-sql.ts';
import { isReachableInSql } from '../tables/read/table-at.ts';
import { bodyLife } from './arrived-rows.ts';

/** After a step has removed the rows of a segment, it takes another one only if it has removed fewer rows than this. */
const segmentRowsAtOnce = 20_000;

/** How long a segment must have been idle before it is checked, by the clock of Postgres, in milliseconds. */
const idleLife = 3_600_000;

/**
 * The idle life while the read model is filled. No client is then between sending rows and naming them: a segment is
 * written a moment before its event. A fill can overwrite in minutes what took a year of the log, so its idle segments
 * must go soon.
 */
const idleLifeInFill = 60_000;

/** Marks a segment as idle. A tail has no row in `segments` yet, so one is inserted. */
export const orIdleSince = 'on conflict (key) do update set idle_since = now() where not segments.emptied';

/** Removes blocks whose closing event would come too late. */
const dropBlocks: RemoveGarbage = (database, later) =>
  removeRows(
    database,
    `with old as (
    delete from body_blocks where (body_id, number) in (
      select old.* from ${oldestOfPartitions(`
        select body_id, number from body_blocks join teams on teams.id = body_blocks.team_id
        and teams.partition = progress.partition
        where body_blocks.time < progress.time - $1 order by body_blocks.time limit ${thingsAtOnce}`)}
      limit ${thingsAtOnce})
    returning segment
  ), idle as (
    update segments set idle_since = now() from old where segments.key = old.segment and not segments.emptied
  ) select from old`,
    [bodyLife - later],
  );

const isNamed = 'exists (select from extents where extents.segment = segments.key)';

/** SQL: whether readers can reach a segment now, or will once its body is closed or its stash imported. */
const isInUse = `exists (select from extents where extents.segment = segments.key and ${isReachableInSql})
  or exists (select from body_blocks where body_blocks.segment = segments.key)
  or exists (select from chunk_blocks where chunk_blocks.segment = segments.key)`;

const isUnused = `not (${isInUse}) and not ${isNamed}`;

/**
 * Cleans idle segments that are not in use. If extents still name a segment, only its rows are removed; otherwise the
 * whole segment.
 */
async function emptySegments(database: Database, later: number, isFilled = false): Promise<number> {
  const idleMs = (isFilled ? idleLifeInFill : idleLife) - later;
  const { rows } = await database.pool.query<{ key: string; rows: number; used: boolean; named: boolean }>(
    `select key, rows, ${isInUse} as used, ${isNamed} as named
      from segments where not emptied and idle_since < now() - $1 * interval '1 ms' limit ${thingsAtOnce}`,
    [idleMs],
  );
  const keysOf = (isOne: (row: { used: boolean; named: boolean }) => boolean): string[] =>
    rows.filter(isOne).map(({ key }) => key);
  // Skips segments that have become idle again since the query.
  await removeRows(
    database,
    `update segments set idle_since = null where key = any($1) and idle_since < now() - $2 * interval '1 ms'`,
    [keysOf(({ used }) => used), idleMs],
  );
  const unreachable: string[] = [];
  let rowsBefore = 0;
  for (const segment of rows) {
    if (segment.used || !segment.named) continue;
    unreachable.push(segment.key);
    rowsBefore += segment.rows;
    if (rowsBefore >= segmentRowsAtOnce) break;
  }
  if (unreachable.length > 0) await removeRows(database, emptyNamed, [unreachable]);
  const unnamed = keysOf(({ used, named }) => !used && !named);
  if (unnamed.length > 0) await dropSegments(database, unnamed);
  return rows.length;
}

/**
 * Drops these segments; their rows are removed later. A batch that was loaded earlier may still name one. So the
 * segments are first made unfindable: an event that names one from then on writes it again. Then the layout of each
 * partition is raised, which invalidates everything that was loaded earlier. A segment that no batch has named by then
 * can no longer be named. The layouts are raised one partition at a time, so that waiting for one partition delays no
 * other.
 */
async function dropSegments(database: Database, keys: readonly string[]): Promise<void> {
  const { pool } = database;
  await pool.query(`update segments set id = null where key = any($1) and ${isUnused}`, [keys]);
  const { rows } = await pool.query<{ partition: number }>('select partition from progress order by partition');
  for (const { partition } of rows)
    await pool.query('update progress set layout = layout + 1 where partition = $1', [partition]);
  await pool.query(`update segments set dropped = true, emptied = true where key = any($1) and ${isUnused}`, [keys]);
}

const removeDropped: RemoveGarbage = (database) =>
  removeRows(
    database,
    `with dropped as (
      select key from (
        select key, sum(rows) over (order by key) - rows as rows_before
        from (select key, rows from segments where dropped limit ${thingsAtOnce}) first
      ) measured where rows_before < ${segmentRowsAtOnce}),
    gone as (delete from segment_rows where segment in (select key from dropped)),
    ids as (delete from retained_ids where segment in (select key from dropped)),
    named as (delete from file_references where segment in (select key from dropped))
  delete from segments where key in (select key from dropped)`,
  );

/**
 * Removes the rows only: extents stay until their generation is forgotten, because they record which IDs they issued.
 */
const emptyNamed = `with gone as (delete from segment_rows where segment = any($1::int8[])),
    named as (delete from file_references where segment = any($1::int8[])),
    extents as (update extents set merged = true, presented = coalesce(presented, schema_version)
    where segment = any($1::int8[]))
  update segments set emptied = true where key = any($1::int8[])`;

export const segmentGarbage: Garbage = {
  body_blocks: dropBlocks,
  dropped_segments: removeDropped,
  idle_segments: emptySegments,
};
