/**
 * The sweeper removes what nothing shows any more, and nothing that a decision reads: rows of generations that were
 * replaced an hour of log time ago, blocks whose body was never closed, chunks that were replaced and those of stashes that have
 * ended, segments of attempts that failed, and outcomes that
 * are remembered no longer. Links stay as long as their table: they say which IDs it issued.
 *
 * Each step is a small transaction of its own.
 */
import type { Database } from '../../src/database/database.ts';
import { inTransaction } from '../../src/database/transaction.ts';
import { outcomeLife } from '../outcomes/outcomes.store.ts';
import { endedStashLife } from '../stashes/live-stash.ts';
import { bodyLife } from '../tables/place-rows.ts';

/** For how long continuations go on in a generation that was replaced (decisions 3), in milliseconds of log time. */
export const generationLife = 3_600_000;

/** How much one step removes at most. */
const thingsAtOnce = 100;
const segmentsAtOnce = 4;
const outcomesAtOnce = 2000;

export interface SweepTimes {
  /** In milliseconds of log time. */
  readonly generations: number;
  readonly bodies: number;
  /** Of those that have ended. */
  readonly stashes: number;
  readonly outcomes: number;
  /** How long a segment must have been shown by nothing, by the clock of Postgres. */
  readonly segments: number;
}

/** A try under an old key has an old outcome and a job that is young: it can be asked for as long again. */
export const sweepTimes: SweepTimes = {
  generations: generationLife, bodies: bodyLife, stashes: endedStashLife, outcomes: 2 * outcomeLife, segments: 3_600_000,
};

type Step = (database: Database, times: SweepTimes) => Promise<number>;

/** Does one step, outcomes apart. Gives whether it found anything to be removed. */
export async function sweepOnce(database: Database, times: SweepTimes = sweepTimes): Promise<boolean> {
  for (const step of [
    endGenerations, dropBlocks, dropReplacedChunks, clearStashes, forgetStashes, dropChanges, removeDropped, emptySegments,
    forgetGenerations, dropTables,
  ]) {
    if ((await step(database, times)) > 0) return true;
  }
  return false;
}

async function run(database: Database, text: string, values: readonly unknown[] = []): Promise<number> {
  const { rowCount } = await database.pool.query(text, [...values]);
  return rowCount ?? 0;
}

/** The links of an ended generation: the versions tell too, so that those of other generations need not be looked at. */
const ofGeneration = `links.table_id = ended.table_id and links.generation = ended.version
  and links.version >= ended.version and links.version < ended.ended`;

/** Tails are no segments of record before they end. */
export const orIdleSince = 'on conflict (key) do update set idle_since = now() where not segments.emptied';

/** Readers cannot go on in them from now on; what they read can be removed then. */
const endGenerations: Step = (database, { generations }) => run(
  database,
  `with ended as (
    update generations set swept = true where (table_id, version) in (
      select ended.table_id, ended.version from generations ended
      join tables on tables.id = ended.table_id join teams on teams.id = tables.team_id
      join progress on progress.partition = teams.partition
      where not ended.swept and ended.ended_at < progress.time - $1 limit ${thingsAtOnce})
    returning table_id, version, ended
  ), idle as (
    insert into segments (key, rows)
    select distinct on (links.segment) links.segment, links.rows from ended
    join links on ${ofGeneration}
    ${orIdleSince}
  ) select from ended`,
  [generations],
);

/** Blocks whose closing event would come too late. */
const dropBlocks: Step = (database, { bodies }) => run(
  database,
  `with old as (
    delete from body_blocks where (body_id, number) in (
      select body_id, number from body_blocks join teams on teams.id = body_blocks.team_id
      join progress on progress.partition = teams.partition
      where body_blocks.time < progress.time - $1 limit ${thingsAtOnce})
    returning segment
  ), idle as (
    update segments set idle_since = now() from old where segments.key = old.segment and not segments.emptied
  ) select from old`,
  [bodies],
);

/** Chunks whose place in their stash others have taken. The identities that their rows came with are needed where links keep them. */
const dropReplacedChunks: Step = (database) => run(database, dropChunkBlocks('stash is null'));

function dropChunkBlocks(condition: string): string {
  return `with old as (
      delete from chunk_blocks where (chunk, number) in (
        select chunk, number from chunk_blocks where ${condition} limit ${thingsAtOnce})
      returning segment
    ), idle as (
      update segments set idle_since = now() from old where segments.key = old.segment and not segments.emptied
    ), ids as (
      delete from kept_ids using old where kept_ids.segment = old.segment
        and not exists (select from links where links.segment = old.segment and links.kept is not null)
    ) select from old`;
}

/** What stashes hold that have ended. */
const clearStashes: Step = async (database) => {
  const { rows: [ended] } = await database.pool.query<{ key: string }>(
    'select key from stashes where ended_at is not null and not cleared limit 1',
  );
  if (!ended) return 0;
  const dropped = await run(database, dropChunkBlocks('stash = $1'), [ended.key]);
  return dropped > 0 ? dropped : run(database, 'update stashes set cleared = true where key = $1', [ended.key]);
};

/** Stashes of which nobody remembers that they have ended. */
const forgetStashes: Step = (database, { stashes }) => run(
  database,
  `delete from stashes where key in (
    select key from stashes join teams on teams.id = stashes.team_id join progress on progress.partition = teams.partition
    where cleared and ended_at < progress.time - $1 limit ${thingsAtOnce})`,
  [stashes],
);

/**
 * Does one step on outcomes, and gives whether it found any that are too old. To be called now and then only: on outcomes
 * there is no index that every request would have to keep up, so all of them may be looked at.
 */
export async function sweepOutcomes(database: Database, { outcomes }: SweepTimes = sweepTimes): Promise<boolean> {
  const dropped = await run(
    database,
    `delete from outcomes where ctid = any (array(
      select outcomes.ctid from outcomes join progress on progress.partition = outcomes.partition
      where outcomes.time < progress.time - $1 limit ${outcomesAtOnce}))`,
    [outcomes],
  );
  return dropped > 0;
}

/** Whether readers can come by a link. */
const isShown = `exists (
  select from tables where tables.id = links.table_id and tables.generation = links.generation and not tables.deleted
  union all
  select from generations ended where ended.table_id = links.table_id and ended.version = links.generation and not ended.swept)`;

/** Changes of rows that nobody can read any more. */
async function dropChanges(database: Database): Promise<number> {
  const { rows: [ended] } = await database.pool.query<{ table_id: string; version: string }>(
    'select table_id, version from generations where swept and not cleared limit 1',
  );
  if (!ended) return 0;
  const key = [ended.table_id, ended.version];
  const dropped = await run(
    database,
    `with old as (
      select link, index from generations ended join links on ${ofGeneration} and links.changed
      join changes on changes.link = links.key
      where ended.table_id = $1 and ended.version = $2 limit ${outcomesAtOnce}
    ), named as (
      delete from change_references named using old where named.link = old.link and named.index = old.index
    ) delete from changes using old where changes.link = old.link and changes.index = old.index`,
    key,
  );
  if (dropped === 0) await run(database, 'update generations set cleared = true where table_id = $1 and version = $2', key);
  return 1;
}

/** Where readers can come to a segment, or will when the body that it is a block of is closed, or its stash imported. */
const isInUse = `exists (select from links where links.segment = segments.key and ${isShown})
  or exists (select from body_blocks where body_blocks.segment = segments.key)
  or exists (select from chunk_blocks where chunk_blocks.segment = segments.key)`;

/** Segments that nothing shows. Of those that links still name the rows go; of others, in the end, all that is known. */
async function emptySegments(database: Database, { segments }: SweepTimes): Promise<number> {
  const { rows } = await database.pool.query<{ key: string; used: boolean; linked: boolean }>(
    `select key, ${isInUse} as used, ${isLinked} as linked
      from segments where not emptied and idle_since < now() - $1 * interval '1 ms' limit ${thingsAtOnce}`,
    [segments],
  );
  const keysOf = (isOne: (row: { used: boolean; linked: boolean }) => boolean): string[] => rows.filter(isOne).map(({ key }) => key);
  // Something may have stopped showing one meanwhile, and has said so.
  await run(database, `update segments set idle_since = null where key = any($1) and idle_since < now() - $2 * interval '1 ms'`, [
    keysOf(({ used }) => used), segments,
  ]);
  for (const key of keysOf(({ used, linked }) => !used && linked).slice(0, segmentsAtOnce)) await run(database, emptyLinked, [key]);
  const unlinked = keysOf(({ used, linked }) => !used && !linked);
  if (unlinked.length > 0) await dropSegments(database, unlinked);
  return rows.length;
}

/**
 * Has nobody find these segments any more. Events that are projected late may yet name one: what was fetched of it does not hold
 * then, and it is looked for again, and written from the event. Only this needs all to wait; the rows go afterwards.
 */
async function dropSegments(database: Database, keys: readonly string[]): Promise<void> {
  await inTransaction(database.pool, async (client) => {
    // From here on nobody stores anything before this is over.
    await client.query('update progress set layout = layout + 1');
    await client.query(
      `update segments set dropped = true, emptied = true, id = null where key = any($1) and not (${isInUse}) and not ${isLinked}`, [keys],
    );
  });
}

const removeDropped: Step = (database) => run(
  database,
  `with dropped as (select key from segments where dropped limit ${segmentsAtOnce}),
    gone as (delete from segment_rows where segment in (select key from dropped)),
    ids as (delete from kept_ids where segment in (select key from dropped)),
    named as (delete from file_references where segment in (select key from dropped))
  delete from segments where key in (select key from dropped)`,
);

const isLinked = 'exists (select from links where links.segment = segments.key)';

/** Its links still say which IDs they issued. */
const emptyLinked = `with gone as (delete from segment_rows where segment = $1),
    named as (delete from file_references where segment = $1),
    links as (update links set merged = true, presented = coalesce(presented, schema_version) where segment = $1)
  update segments set emptied = true where key = $1`;

/** What is left of a table that was deleted, when the last of its generations is forgotten. */
async function dropTables(database: Database): Promise<number> {
  const { rows } = await database.pool.query<{ id: string }>(
    `select id from tables where deleted and not exists (select from generations where table_id = tables.id) limit 1`,
  );
  for (const { id } of rows) {
    const links = await run(
      database,
      `with gone as (
        delete from links where key in (select key from links where table_id = $1 limit ${outcomesAtOnce}) returning key, segment
      ), emptied as (
        delete from segments using gone where segments.key = gone.segment and segments.emptied
          and not exists (select from links where links.segment = gone.segment and links.key <> all (select key from gone))
      ), ids as (
        delete from kept_ids using gone where kept_ids.segment = gone.segment
          and not exists (select from links where links.segment = gone.segment and links.key <> all (select key from gone))
      ), changed as (
        delete from changes using gone where changes.link = gone.key
      ), named as (
        delete from change_references named using gone where named.link = gone.key
      ) select from gone`,
      [id],
    );
    if (links > 0) continue;
    await run(
      database,
      `with schemas as (delete from table_schemas where table_id = $1), apps as (delete from app_links where table_id = $1)
        delete from tables where id = $1`,
      [id],
    );
  }
  return rows.length;
}

/** The identities that rows of them kept are part of answers, which are repeated for as long as outcomes are. */
async function forgetGenerations(database: Database, { outcomes }: SweepTimes): Promise<number> {
  const { rows } = await database.pool.query<{ table_id: string; version: string }>(
    `select ended.table_id, ended.version from generations ended
      join tables on tables.id = ended.table_id join teams on teams.id = tables.team_id
      join progress on progress.partition = teams.partition
      where ended.cleared and ended.ended_at < progress.time - $1 limit 1`,
    [outcomes],
  );
  for (const { table_id: tableId, version } of rows) {
    await run(
      database,
      `with gone as (delete from generations where table_id = $1 and version = $2)
        delete from kept_ids using generations ended join links on ${ofGeneration} and links.kept is not null
        where ended.table_id = $1 and ended.version = $2 and kept_ids.segment = links.segment and not exists (
            select from links other where other.segment = links.segment
              and (other.table_id <> links.table_id or other.generation <> links.generation))`,
      [tableId, version],
    );
  }
  return rows.length;
}
