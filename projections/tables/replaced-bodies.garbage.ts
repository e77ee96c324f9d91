/**
 * Erases the stored bodies of rows that were patched or deleted. From the commit of a change on, all readers read the
 * change. So the body in the segment can be overwritten in place, although other rows of the segment are still in use.
 * The row itself stays, because its index and version count.
 *
 * Each changed extent is checked every six hours after it was stored, if its table has changed since the last check.
 * Other extents may show the same segment; it may belong to a stash or to an open body; and a repeated event may name
 * it. So a body stays as long as any other extent shows it or may show it. Before an erasure, the segment loses its ID,
 * so that an event that names it from then on writes it again. That raises the layout, which invalidates everything
 * that was loaded earlier.
 */
import type { Database } from '../../src/storage/database/database.ts';
import { inTransaction } from '../../src/storage/database/transaction.ts';
import { removeRows, rowsAtOnce, thingsAtOnce } from '../../src/log/garbage.ts';
import { hasChangeAt } from './read/shown-rows.ts';
import { isReachableInSql } from './read/table-at.ts';
import { eraseInterval } from './table.entity.ts';

/** The body of an erased row. It reads as a row without values, in each form except that of cells. */
export const erasedBody = '{}';

/**
 * The interval of checks while the read model is filled, in milliseconds by the clock of Postgres: from the storing of
 * an extent or schema, and from each check, to the next check. A fill reads years of patches within an hour. With this
 * interval it erases bodies in pieces so large that batches rarely have to begin again.
 */
export const lookIntervalInFill = 600_000;

/** The extents that are due, at most `thingsAtOnce`. If an extent has nothing to erase, its rows need not be read. */
const selectDue = `
  select extents.key, extents.segment, tables.version, teams.partition, segments.id is not null as findable,
    tables.version > extents.erased and ${isReachableInSql} and not segments.emptied
      and not exists (select from body_blocks where body_blocks.segment = extents.segment)
      and not exists (select from chunk_blocks where chunk_blocks.segment = extents.segment) as works
  from extents join tables on tables.id = extents.table_id join teams on teams.id = tables.team_id
  left join segments on segments.key = extents.segment
  where extents.changed and extents.erase_at <= now() + $1 * interval '1 ms'
  order by extents.erase_at limit ${thingsAtOnce}`;

interface DueExtent {
  readonly key: string;
  readonly segment: string;
  readonly version: string;
  readonly partition: number;
  readonly findable: boolean | null;
  /** Null: the segment of a tail that garbage collection has never met. */
  readonly works: boolean | null;
}

/**
 * Erases bodies of a few extents, and records that other extents have none to erase. Resolves to the number of such
 * extents and erased bodies.
 */
export async function eraseReplacedBodies(database: Database, later: number, isFilled = false): Promise<number> {
  const { rows: due } = await database.pool.query<DueExtent>(selectDue, [
    isFilled ? later + eraseInterval - lookIntervalInFill : later,
  ]);
  const [working, done] = [due.filter(({ works }) => works !== false), due.filter(({ works }) => works === false)];
  await makeUnfindable(
    database,
    working.filter(({ findable }) => findable === true),
  );
  let erased = 0;
  for (const extent of working) {
    const bodies = await removeRows(database, eraseBodies, [extent.key, extent.segment]);
    if (bodies < rowsAtOnce) done.push(extent);
    erased += bodies;
    if (erased >= rowsAtOnce) break;
  }
  if (done.length > 0) await noteErased(database, done, later);
  return done.length + erased;
}

/** `others`: extents that show the same place of the segment, or may, and have no change of their own there. */
const eraseBodies = `
  with erased as (
    select key, segment, first, rows, erased from extents where key = $1 and segment = $2
  ), others as materialized (
    select extents.key, extents.first, extents.rows from erased join extents on extents.segment = erased.segment
    and extents.key <> erased.key
      and extents.first < erased.first + erased.rows and erased.first < extents.first + extents.rows
    where ${isReachableInSql}
  ), old as (
    select erased.segment, erased.first + replaced.index as index from erased
    join changes replaced on replaced.extent = erased.key and replaced.version > erased.erased
    join segment_rows stored on stored.segment = erased.segment and stored.index = erased.first + replaced.index
    and stored.body <> '${erasedBody}'
    where not exists (
      select from others where erased.first + replaced.index >= others.first
      and erased.first + replaced.index < others.first + others.rows
        and not ${hasChangeAt('others', 'erased.first + replaced.index - others.first')})
    limit ${rowsAtOnce}
  ) update segment_rows set body = '${erasedBody}' from old where segment_rows.segment = old.segment
  and segment_rows.index = old.index`;

/**
 * If compaction has moved an extent in the meantime, or another extent also shows its rows, the extent is checked
 * again. Skips locked extents, which are then due again: if it waited, a batch could wait for it in a circle.
 */
async function noteErased(database: Database, extents: readonly DueExtent[], later: number): Promise<void> {
  await database.pool.query(
    `with free as materialized (select key from extents where key = any($1::int8[]) for update skip locked)
      update extents set erase_at = now() + ($5::float8 + ${eraseInterval}) * interval '1 ms', erased =
      case when looked.works is false or exists (
          select from extents others where others.segment = extents.segment and others.key <> extents.key
            and others.first < extents.first + extents.rows and extents.first < others.first + others.rows
        ) then extents.erased else looked.version end
      from rows from (unnest($1::int8[], $2::int8[], $3::int8[], $4::bool[])) as looked(key, segment, version, works)
      join free using (key)
      where extents.key = looked.key and extents.segment = looked.segment`,
    [
      extents.map(({ key }) => key),
      extents.map(({ segment }) => segment),
      extents.map(({ version }) => version),
      extents.map(({ works }) => works),
      later,
    ],
  );
}

/**
 * After this no event finds the segments, and no batch that has already found one can be stored. All segments of a
 * partition are made unfindable at once, because each time the batches of the partition begin again.
 */
async function makeUnfindable(database: Database, extents: readonly DueExtent[]): Promise<void> {
  for (const [partition, found] of Map.groupBy(extents, (extent) => extent.partition)) {
    await inTransaction(database.pool, async (client) => {
      // Projectors lock this row first too, which prevents deadlocks.
      await client.query('update progress set layout = layout + 1 where partition = $1', [partition]);
      await client.query('update segments set id = null where key = any($1::int8[])', [
        found.map(({ segment }) => segment),
      ]);
    });
  }
}
