/**
 * Forgets replaced generations: removes their extents, and records in `issued_ids` which row IDs these issued. An
 * overwrite may come with any of these IDs, and is refused if it comes with an ID that the table never issued
 * (docs/spec/decisions.md 2). Nothing else of such a generation is ever looked up (docs/decisions/0066).
 */
import type pg from 'pg';
import type { Database } from '../../src/storage/database/database.ts';
import { advisoryLocks } from '../../src/storage/database/advisory-locks.ts';
import { inTransaction } from '../../src/storage/database/transaction.ts';
import { rowsAtOnce } from '../../src/log/garbage.ts';
import { oldestGenerations, ofGeneration, rememberedAnswers } from './ended-generations.ts';

/** How many generations a step takes. It moves `rowsAtOnce` extents at most. */
const generationsAtOnce = 500;

/** A pack is full once its entries count this many bytes: about 256 entries whose rows retain no IDs. */
const packBytes = 4096;
const entryBytes = 16;

/** SQL: the bytes of an entry. Each run of rows that retain an ID has 8 bytes (retained-places.ts). */
const bytesOfEntry = `${entryBytes} + coalesce(length(retained), 0)`;

/**
 * SQL: whether an extent issued any row ID. It issued none if all its rows retain one, because those rows are then one
 * run from 0 on (retained-places.ts).
 */
export const issuedAnyInSql = (extent: string): string =>
  `${extent}.retained is distinct from int4send(0) || int4send(${extent}.rows)`;

/**
 * Forgets cleared generations, and the row IDs that their rows retained, once no answer can repeat the IDs. Resolves to
 * the number of removed rows.
 */
export async function forgetGenerations(database: Database, later: number): Promise<number> {
  const { rows: due } = await database.pool.query<{ table_id: string; version: string }>(
    `select old.* from ${oldestGenerations('ended.cleared', generationsAtOnce)} limit ${generationsAtOnce}`,
    [rememberedAnswers - later],
  );
  let done = 0;
  for (const [tableId, generations] of Map.groupBy(due, ({ table_id: id }) => id)) {
    done += await forgetGenerationsOf(
      database,
      tableId,
      new Set(generations.map(({ version }) => version)),
      rowsAtOnce - done,
    );
    if (done >= rowsAtOnce) break;
  }
  return done;
}

/**
 * Forgets generations of a table, but none that has an older one. Removes `rowsMax` rows at most, besides the
 * generations. Two processes that do so take turns: otherwise the second would pack extents that the first has already
 * moved to another pack. Maintenance runs in a second process only if the first has lost its session.
 */
function forgetGenerationsOf(
  { pool, schema }: Database,
  tableId: string,
  due: ReadonlySet<string>,
  rowsMax: number,
): Promise<number> {
  return inTransaction(pool, async (client) => {
    await client.query('select pg_advisory_xact_lock($1, hashtext($2))', [
      advisoryLocks.forgetGenerations,
      `${schema} ${tableId}`,
    ]);
    return forgetAlone(client, tableId, due, rowsMax);
  });
}

async function forgetAlone(
  client: pg.PoolClient,
  tableId: string,
  due: ReadonlySet<string>,
  rowsMax: number,
): Promise<number> {
  const removeRows = async (text: string, values: readonly unknown[]): Promise<number> =>
    (await client.query(text, [...values])).rowCount ?? 0;
  const { rows: oldest } = await client.query<{ version: string; deleted: boolean }>(
    `select generations.version, tables.deleted from generations join tables on tables.id = generations.table_id
      where generations.table_id = $1 order by generations.version limit $2`,
    [tableId, due.size],
  );
  // The oldest first, because a pack is added after those of older generations.
  const other = oldest.findIndex(({ version }) => !due.has(version));
  const versions = (other === -1 ? oldest : oldest.slice(0, other)).map(({ version }) => version);
  if (versions.length === 0) return 0;
  const ids = await removeRows(removeRetainedIds, [tableId, versions, rowsMax]);
  if (ids >= rowsMax) return ids;
  // The extents of a deleted table are removed with the rest of the table.
  const extents = oldest[0]!.deleted ? 0 : await removeRows(packExtents, [tableId, versions, rowsMax - ids]);
  if (ids + extents >= rowsMax) return ids + extents;
  return ids + extents + (await removeRows(removeGenerations, [tableId, versions]));
}

/** The row IDs that rows of these generations retained, unless other extents show the same rows. */
const removeRetainedIds = `delete from retained_ids using (
    select retained_ids.segment, retained_ids.index from generations ended
    join extents on ${ofGeneration} and extents.retained is not null
    join retained_ids on retained_ids.segment = extents.segment
    where ended.table_id = $1 and ended.version = any($2::int8[]) and not exists (
      select from extents other where other.segment = extents.segment
      and (other.table_id <> $1 or other.generation <> all($2::int8[])))
    limit $3
  ) old where retained_ids.segment = old.segment and retained_ids.index = old.index`;

/**
 * Moves extents into the last pack of their table, and into further ones. Also removes their segments, if no other
 * extent shows them. Garbage collection removes the rows of these segments, because an ended generation makes its
 * segments idle.
 */
const packExtents = `
  with gone as (
    delete from extents where key = any(array(
      select extents.key from generations ended join extents on ${ofGeneration}
      where ended.table_id = $1 and ended.version = any($2::int8[]) order by extents.version, extents.ordinal limit $3))
    returning key, segment, version, ordinal, rows, retained
  ), unnamed as materialized (
    select distinct segment from gone where not exists (select from extents where extents.segment = gone.segment
    and extents.key <> all (select key from gone))
  ), emptied as (
    delete from segments using unnamed where segments.key = unnamed.segment and segments.emptied
  ), ids as (
    delete from retained_ids using unnamed where retained_ids.segment = unnamed.segment
  ), added as (
    select version, ordinal, rows, retained from gone where ${issuedAnyInSql('gone')}
  ), entries as (
    select * from added
    union all
    select entry.* from (
      select * from issued_ids where table_id = $1 and exists (select from added) order by version desc, ordinal desc
      limit 1
    ) last, unnest(last.versions, last.ordinals, last.rows, last.retained) entry(version, ordinal, rows, retained)
  ), measured as (
    select *, (sum(${bytesOfEntry}) over (order by version, ordinal) - (${bytesOfEntry})) / ${packBytes} as pack
    from entries
  ), packed as (
    insert into issued_ids (table_id, version, ordinal, last_version, last_ordinal, versions, ordinals, rows, retained)
    select $1::uuid, versions[1], ordinals[1], versions[cardinality(versions)], ordinals[cardinality(ordinals)],
    versions, ordinals, rows, retained from (
      select array_agg(version order by version, ordinal) as versions, array_agg(ordinal
      order by version, ordinal) as ordinals,
        array_agg(rows order by version, ordinal) as rows, array_agg(retained order by version, ordinal) as retained
      from measured group by pack
    ) packs
    on conflict (table_id, version, ordinal) do update
    set last_version = excluded.last_version, last_ordinal = excluded.last_ordinal,
      versions = excluded.versions, ordinals = excluded.ordinals, rows = excluded.rows, retained = excluded.retained
  ) select from gone`;

const removeGenerations = `
  with gone as (
    delete from generations where table_id = $1 and version = any($2::int8[]) returning version
  ), forgotten as (
    update tables set forgotten = true where id = $1 and deleted
      and not exists (select from generations other where other.table_id = $1 and other.version <> all($2::int8[]))
  ) select from gone`;
