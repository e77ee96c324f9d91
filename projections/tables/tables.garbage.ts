/**
 * Garbage collection of tables: the changes of generations that were replaced an hour of log time ago, later the retained row IDs of
 * those, and the remains of deleted tables. Extents stay as long as their table: they record which row IDs it issued.
 */
import type { Database } from '../../src/database/database.ts';
import { removeRows, rowsAtOnce, thingsAtOnce } from '../engine/garbage.ts';
import type { Garbage, RemoveGarbage } from '../engine/model.ts';
import { outcomesKept } from '../engine/outcomes/recorded-outcome.ts';
import { oldestOfPartitions } from '../engine/quarantine/held-in-sql.ts';
import { eraseReplacedBodies } from './replaced-bodies.garbage.ts';
import { orIdleSince } from '../segments/segments.garbage.ts';

/** How long continuations work in a replaced generation, in milliseconds of log time (docs/spec/decisions.md 3). */
export const generationLife = 3_600_000;

/** Retained row IDs of a replaced generation are parts of answers, which can be repeated as long as outcomes are stored. */
export const rememberedAnswers = outcomesKept;

/** The extents of an ended generation. The range of versions keeps the scan away from other generations. */
const ofGeneration = `extents.table_id = ended.table_id and extents.generation = ended.version
  and extents.version >= ended.version and extents.version < ended.ended`;

/** SQL: generations that ended longer than `$1` ago. */
const oldestGenerations = (condition: string, limit: number): string => oldestOfPartitions(`
  select ended.table_id, ended.version from generations ended
  join tables on tables.id = ended.table_id join teams on teams.id = tables.team_id and teams.partition = progress.partition
  where ${condition} and ended.ended_at < progress.time - $1 order by ended.ended_at limit ${limit}`);

/** Ends replaced generations for readers; what only they showed can be removed after that. */
const endGenerations: RemoveGarbage = (database, later) => removeRows(
  database,
  `with ended as (
    update generations set expired = true where (table_id, version) in (
      select old.* from ${oldestGenerations('not ended.expired', thingsAtOnce)} limit ${thingsAtOnce})
    returning table_id, version, ended
  ), idle as (
    insert into segments (key, rows)
    select distinct on (extents.segment) extents.segment, extents.rows from ended
    join extents on ${ofGeneration}
    ${orIdleSince}
  ) select from ended`,
  [generationLife - later],
);

/** Removes the changes of generations that have ended for readers. */
async function dropChanges(database: Database): Promise<number> {
  const { rows: [ended] } = await database.pool.query<{ table_id: string; version: string }>(
    'select table_id, version from generations where expired and not cleared limit 1',
  );
  if (!ended) return 0;
  const key = [ended.table_id, ended.version];
  const dropped = await removeRows(
    database,
    `with old as (
      select extent, index from generations ended join extents on ${ofGeneration} and extents.changed
      join changes on changes.extent = extents.key
      where ended.table_id = $1 and ended.version = $2 limit ${rowsAtOnce}
    ), named as (
      delete from change_references named using old where named.extent = old.extent and named.index = old.index
    ) delete from changes using old where changes.extent = old.extent and changes.index = old.index`,
    key,
  );
  if (dropped === 0) await removeRows(database, 'update generations set cleared = true where table_id = $1 and version = $2', key);
  return 1;
}

/** Forgets cleared generations and the row IDs that their rows retained, once no answer can repeat the IDs (`rememberedAnswers`). */
async function forgetGenerations(database: Database, later: number): Promise<number> {
  const { rows } = await database.pool.query<{ table_id: string; version: string }>(
    `select old.* from ${oldestGenerations('ended.cleared', 1)} limit 1`,
    [rememberedAnswers - later],
  );
  for (const { table_id: tableId, version } of rows) {
    const ids = await removeRows(
      database,
      `delete from retained_ids using (
          select retained_ids.segment, retained_ids.index from generations ended
          join extents on ${ofGeneration} and extents.retained is not null join retained_ids on retained_ids.segment = extents.segment
          where ended.table_id = $1 and ended.version = $2 and not exists (
            select from extents other where other.segment = extents.segment
              and (other.table_id <> extents.table_id or other.generation <> extents.generation))
          limit ${rowsAtOnce}
        ) old where retained_ids.segment = old.segment and retained_ids.index = old.index`,
      [tableId, version],
    );
    if (ids > 0) continue;
    await removeRows(
      database,
      `with gone as (delete from generations where table_id = $1 and version = $2)
        update tables set forgotten = true where id = $1 and deleted
          and not exists (select from generations other where other.table_id = $1 and other.version <> $2)`,
      [tableId, version],
    );
  }
  return rows.length;
}

/** Removes the remains of a deleted table once its last generation is forgotten. */
async function dropTables(database: Database): Promise<number> {
  const { rows } = await database.pool.query<{ id: string }>(
    'select id from tables where forgotten limit 1',
  );
  for (const { id } of rows) {
    const extents = await removeRows(
      database,
      `with gone as (
        delete from extents where key in (select key from extents where table_id = $1 limit ${rowsAtOnce}) returning key, segment
      ), emptied as (
        delete from segments using gone where segments.key = gone.segment and segments.emptied
          and not exists (select from extents where extents.segment = gone.segment and extents.key <> all (select key from gone))
      ), ids as (
        delete from retained_ids using gone where retained_ids.segment = gone.segment
          and not exists (select from extents where extents.segment = gone.segment and extents.key <> all (select key from gone))
      ), changed as (
        delete from changes using gone where changes.extent = gone.key
      ), named as (
        delete from change_references named using gone where named.extent = gone.key
      ) select from gone`,
      [id],
    );
    if (extents > 0) continue;
    await removeRows(
      database,
      `with schemas as (delete from table_schemas where table_id = $1), apps as (delete from app_links where table_id = $1)
        delete from tables where id = $1`,
      [id],
    );
  }
  return rows.length;
}

/** How long after a look at a schema the next one follows, in milliseconds by the clock of Postgres. A page is read for far less. */
const schemaInterval = 6 * 3_600_000;

/**
 * Removes schemas under which nothing is read any more, at the second look that finds it: readers ask for the schema after the rows. A schema of no use never
 * gets into use again. The limits make each look-up an index probe: for `not exists`, Postgres 18 may scan all tables.
 */
const dropSchemas: RemoveGarbage = async (database, later) => {
  const { rows: [looked] } = await database.pool.query<{ looked: number }>(
    `with due as (
      select table_id, version, superseded, (
          select true from tables where tables.id = schemas.table_id and tables.schema_version = schemas.version limit 1
        ) is null and (
          select true from generations where generations.table_id = schemas.table_id and generations.schema_version = schemas.version and not expired limit 1
        ) is null as unused
      from table_schemas schemas where look_at <= now() + $1 * interval '1 ms' order by look_at limit ${thingsAtOnce}
    ), gone as (
      delete from table_schemas using due where due.superseded and due.unused and table_schemas.table_id = due.table_id and table_schemas.version = due.version
    ), again as (
      update table_schemas set superseded = due.unused, look_at = now() + ($1 + ${schemaInterval}) * interval '1 ms'
      from due where not (due.superseded and due.unused) and table_schemas.table_id = due.table_id and table_schemas.version = due.version
    ) select count(*)::int4 as looked from due`,
    [later],
  );
  return looked!.looked;
};

export const tableGarbage: Garbage = {
  ended_generations: endGenerations, changes_of_ended_generations: dropChanges, cleared_generations: forgetGenerations, deleted_tables: dropTables,
  replaced_bodies: eraseReplacedBodies, superseded_schemas: dropSchemas,
};
