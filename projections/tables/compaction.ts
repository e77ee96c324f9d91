/**
 * Compaction puts rows to where they are read fast: those that have to be converted are stored as they are presented, and
 * those of many small links lie together. It changes only where bodies lie and in which form: never links, indexes,
 * versions or changes (ARCHITECTURE.md, "Tables are segments, links and changes").
 *
 * Each step writes a new segment first, which nobody sees, and has links show it then, in a transaction of milliseconds.
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

/** Links of fewer bytes are small: many of them are merged. */
export const smallLinkBytes = 64 * 1024;

/** So many small links of a table are worth it; a segment takes at most so many, rows and bytes. */
const mergeLinksMin = 16;
const mergeLinksMax = 500;
const mergeRowsMax = 10_000;
const mergeBytesMax = 1024 * 1024;

/** How many rows are converted before other work gets its turn. */
const rowsAtOnce = 200;

/** Does one step: converts one link, or merges the small links of one table. Gives whether there was anything to be done. */
export async function compactOnce(database: Database): Promise<boolean> {
  return (await convertLink(database)) || (await mergeLinks(database));
}

interface MovedLink {
  readonly key: string;
  /** Where its rows were, and where they are now. */
  readonly segment: string;
  readonly first: number;
  readonly newFirst: number;
  /** The version under which the schema presents the bodies now; null: they were copied. */
  readonly presented: string | null;
}

/** The links whose rows are not stored as their table presents them, of generations that are shown. Tails grow still. */
const selectUnpresented = `
  select links.key, links.segment, links.first, links.rows, links.wrap, links.cells, links.schema_version, links.presented,
    tables.schema_version as read_by, schemas.columns, teams.partition
  from (
    select links.* from tables join links on links.table_id = tables.id and links.presented is null
      and links.version >= tables.generation
    union all
    select links.* from tables join links on links.table_id = tables.id and links.presented < tables.widened
      and links.version >= tables.generation
    where tables.widened > 0
  ) links
  join tables on tables.id = links.table_id and tables.generation = links.generation and not tables.deleted
    and tables.tail is distinct from links.key
  join teams on teams.id = tables.team_id
  join table_schemas schemas on schemas.table_id = tables.id and schemas.version = tables.schema_version
  where links.rows > 0
  limit 1`;

async function convertLink(database: Database): Promise<boolean> {
  const { rows: [link] } = await database.pool.query(selectUnpresented);
  if (!link) return false;
  const stored = await database.pool.query<{ index: number; version: string | null; body: string }>(
    `select index, version, body from segment_rows where segment = $1 and index >= $2 and index < $2 + $3::int4 order by index`,
    [link.segment, link.first, link.rows],
  );
  const form = link.presented === null ? receivedForm(link.cells) : 'presented';
  const schema = decodeSchema(JSON.parse(link.columns));
  const present = presenterOf(schema, BigInt(link.presented ?? link.schema_version), form, link.wrap);
  const bodies: string[] = [];
  for (const [at, { body }] of stored.rows.entries()) {
    if (at % rowsAtOnce === rowsAtOnce - 1) await nextTurn();
    bodies.push(present(body));
  }
  const segment = await createSegment(database, link.rows, async (client, key) => {
    await client.query(
      `insert into segment_rows (segment, index, version, body)
        select $1, index - $2::int4, version, body
        from rows from (unnest($3::int4[], $4::int8[]), string_to_table($5, E'\\n')) as given(index, version, body)`,
      [key, link.first, stored.rows.map(({ index }) => index), stored.rows.map(({ version }) => version), bodies.join('\n')],
    );
    await copyBeside(client, key, [{ ...link, newFirst: 0 }]);
  });
  await moveLinks(database, link.partition, segment, [{ ...link, newFirst: 0, presented: link.read_by }]);
  return true;
}

/**
 * The table that has the most small links, if they are many. The index alone tells which tables may have so many, and most
 * often that none has; only of those are the links looked at that are shown.
 */
const selectScattered = `
  with candidates as materialized (
    select table_id from links where not merged and bytes < ${smallLinkBytes} group by table_id having count(*) >= ${mergeLinksMin}
  )
  select tables.id as table_id, teams.partition
  from candidates join tables on tables.id = candidates.table_id and not tables.deleted
  join teams on teams.id = tables.team_id
  cross join lateral (
    select count(*) as links from links where links.table_id = tables.id and links.generation = tables.generation
      and tables.tail is distinct from links.key and not links.merged and links.bytes < ${smallLinkBytes}
  ) small
  where small.links >= ${mergeLinksMin} order by small.links desc limit 1`;

/** What is a tail is told by the same statement: it grows until it closes, and never opens again. */
const selectSmall = `
  select links.key, links.segment, links.first, links.rows, links.bytes
  from links join tables on tables.id = links.table_id and tables.generation = links.generation and not tables.deleted
    and tables.tail is distinct from links.key
  where not links.merged and links.bytes < ${smallLinkBytes} and links.table_id = $1
  order by links.version, links.ordinal limit ${mergeLinksMax}`;

async function mergeLinks(database: Database): Promise<boolean> {
  const { rows: [table] } = await database.pool.query(selectScattered);
  if (!table) return false;
  const { rows: small } = await database.pool.query(selectSmall, [table.table_id]);
  const moved: MovedLink[] = [];
  let [rows, bytes] = [0, 0];
  for (const link of small) {
    if (rows + link.rows > mergeRowsMax || bytes + link.bytes > mergeBytesMax) break;
    moved.push({ ...link, newFirst: rows, presented: null });
    rows += link.rows;
    bytes += link.bytes;
  }
  // Another overwrite, or the end of the table, has come meanwhile.
  if (moved.length < 2) return false;
  const segment = await createSegment(database, rows, async (client, key) => {
    await client.query(
      `insert into segment_rows (segment, index, version, body)
        select $1, stored.index - moved.first + moved.new_first, stored.version, stored.body
        from unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) as moved(key, segment, first, new_first)
        join links on links.key = moved.key
        join segment_rows stored on stored.segment = moved.segment and stored.index >= moved.first
          and stored.index < moved.first + links.rows`,
      [key, ...columnsOf(moved)],
    );
    await copyBeside(client, key, moved);
  });
  await moveLinks(database, table.partition, segment, moved);
  return true;
}

/**
 * Writes a segment that nothing shows yet, and gives its key. That need not wait for the disk: the commit by which links show it
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
async function copyBeside(client: pg.PoolClient, key: string, moved: readonly MovedLink[]): Promise<void> {
  await client.query(
    `insert into kept_ids (segment, index, id)
      select $1, kept.index - moved.first + moved.new_first, kept.id
      from unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) as moved(key, segment, first, new_first)
      join links on links.key = moved.key and links.kept is not null
      join kept_ids kept on kept.segment = moved.segment and kept.index >= moved.first and kept.index < moved.first + links.rows`,
    [key, ...columnsOf(moved)],
  );
  // All of them, whatever is read of the rows: compaction changes nothing of what a decision is made of.
  await client.query(
    `insert into file_references (team_id, file, segment, index)
      select named.team_id, named.file, $1, named.index - moved.first + moved.new_first
      from unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[]) as moved(key, segment, first, new_first)
      join links on links.key = moved.key
      join file_references named on named.segment = moved.segment and named.index >= moved.first
        and named.index < moved.first + links.rows`,
    [key, ...columnsOf(moved)],
  );
}

/** Has links show a segment from now on, unless something else has moved their rows meanwhile. */
async function moveLinks(database: Database, partition: number, segment: string, moved: readonly MovedLink[]): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    // The lock that a projector takes first too, so that neither waits for the other in a circle.
    await client.query('update progress set layout = layout + 1 where partition = $1', [partition]);
    await client.query(
      `update links set segment = $1, first = moved.new_first, presented = coalesce(moved.presented, links.presented),
          merged = merged or moved.presented is null
        from unnest($2::int8[], $3::int8[], $4::int4[], $5::int4[], $6::int8[])
          as moved(key, segment, first, new_first, presented)
        where links.key = moved.key and links.segment = moved.segment and links.first = moved.first`,
      [segment, ...columnsOf(moved), moved.map(({ presented }) => presented)],
    );
    await client.query(
      `insert into segments (key, rows) select distinct on (segment) segment, 0 from unnest($1::int8[]) segment ${orIdleSince}`,
      [moved.map((link) => link.segment)],
    );
  });
}

function columnsOf(moved: readonly MovedLink[]): unknown[][] {
  return [
    moved.map(({ key }) => key), moved.map(({ segment }) => segment), moved.map(({ first }) => first),
    moved.map(({ newFirst }) => newFirst),
  ];
}
