/**
 * Garbage collection of tables: the changes of generations that were replaced more than an hour of log time ago, later
 * the rest of these generations, and the remains of deleted tables.
 */
import type { Database } from '../../src/storage/database/database.ts';
import { removeRows, rowsAtOnce, thingsAtOnce } from '../../src/log/garbage.ts';
import type { Garbage, RemoveGarbage } from '../../src/log/model.ts';
import { oldestGenerations, ofGeneration } from './ended-generations.ts';
import { dropEndedKeys, dropPreparations } from './keys/keys.garbage.ts';
import { forgetGenerations } from './forgotten-generations.garbage.ts';
import { eraseReplacedBodies, lookIntervalInFill } from './replaced-bodies.garbage.ts';
import { orIdleSince } from '../segments/segments.garbage.ts';

/** How long continuations work in a replaced generation, in milliseconds of log time (docs/spec/decisions.md 3). */
export const generationLife = 3_600_000;

/** Ends replaced generations for readers. Rows that only these generations showed can then be removed. */
const endGenerations: RemoveGarbage = (database, later) =>
  removeRows(
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
  const { rows: ended } = await database.pool.query<{ table_id: string; version: string }>(
    `select table_id, version from generations where expired and not cleared limit ${thingsAtOnce}`,
  );
  if (ended.length === 0) return 0;
  const keys = [ended.map(({ table_id: tableId }) => tableId), ended.map(({ version }) => version)];
  const dropped = await removeRows(
    database,
    `with old as (
      select extent, index from unnest($1::uuid[], $2::int8[]) expired(table_id, version)
      join generations ended on ended.table_id = expired.table_id and ended.version = expired.version
      join extents on ${ofGeneration} and extents.changed
      join changes on changes.extent = extents.key limit ${rowsAtOnce}
    ), named as (
      delete from change_references named using old where named.extent = old.extent and named.index = old.index
    ) delete from changes using old where changes.extent = old.extent and changes.index = old.index`,
    keys,
  );
  if (dropped >= rowsAtOnce) return dropped;
  return (
    dropped +
    (await removeRows(
      database,
      'update generations set cleared = true where (table_id, version) in (select * from unnest($1::uuid[], $2::int8[]))',
      keys,
    ))
  );
}

/** Removes the remains of a deleted table once its last generation is forgotten. */
async function dropTables(database: Database): Promise<number> {
  const { rows } = await database.pool.query<{ id: string }>('select id from tables where forgotten limit 1');
  for (const { id } of rows) {
    const extents = await removeRows(
      database,
      `with gone as (
        delete from extents where key in (select key from extents where table_id = $1 limit ${rowsAtOnce})
        returning key, segment
      ), emptied as (
        delete from segments using gone where segments.key = gone.segment and segments.emptied
          and not exists (select from extents where extents.segment = gone.segment
          and extents.key <> all (select key from gone))
      ), ids as (
        delete from retained_ids using gone where retained_ids.segment = gone.segment
          and not exists (select from extents where extents.segment = gone.segment
          and extents.key <> all (select key from gone))
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
      `with schemas as (delete from table_schemas where table_id = $1), apps as (delete from app_links
      where table_id = $1),
        issued as (delete from issued_ids where table_id = $1)
        delete from tables where id = $1`,
      [id],
    );
  }
  return rows.length;
}

/**
 * The interval between two checks of a schema, in milliseconds by the clock of Postgres. Reading a page takes far less.
 */
const schemaInterval = 6 * 3_600_000;

/**
 * Removes schemas under which nothing is read any more, at the second check that finds them unused: readers ask for the
 * schema after the rows. While a read model is filled it has no readers, so there the first check removes them. An
 * unused schema never comes into use again. The limits make each look-up an index probe: for `not exists`, Postgres 18
 * may scan all tables.
 */
const dropSchemas: RemoveGarbage = async (database, later, isFilled = false) => {
  const {
    rows: [looked],
  } = await database.pool.query<{ looked: number }>(
    `with due as (
      select table_id, version, superseded, (
          select true from tables where tables.id = schemas.table_id and tables.schema_version = schemas.version limit 1
        ) is null and (
          select true from generations where generations.table_id = schemas.table_id
          and generations.schema_version = schemas.version and not expired limit 1
        ) is null as unused
      from table_schemas schemas where look_at <= now() + $2::float8 * interval '1 ms' order by look_at
      limit ${thingsAtOnce}
    ), gone as (
      delete from table_schemas using due where (due.superseded or $3) and due.unused
      and table_schemas.table_id = due.table_id and table_schemas.version = due.version
    ), again as (
      update table_schemas set superseded = due.unused, look_at = now() + ($1::float8 + ${schemaInterval}) *
      interval '1 ms'
      from due where not ((due.superseded or $3) and due.unused) and table_schemas.table_id = due.table_id
      and table_schemas.version = due.version
    ) select count(*)::int4 as looked from due`,
    [later, isFilled ? later + schemaInterval - lookIntervalInFill : later, isFilled],
  );
  return looked!.looked;
};

export const tableGarbage: Garbage = {
  ended_generations: endGenerations,
  changes_of_ended_generations: dropChanges,
  cleared_generations: forgetGenerations,
  deleted_tables: dropTables,
  replaced_bodies: eraseReplacedBodies,
  superseded_schemas: dropSchemas,
  ended_keys: dropEndedKeys,
  key_preparations: dropPreparations,
};
