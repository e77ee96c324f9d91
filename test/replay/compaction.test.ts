/** Compaction and garbage collection change nothing visible, and leave nothing unreachable behind. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { compactOnce, smallExtentBytes } from '../../projections/tables/compaction.ts';
import { removeGarbage } from '../../src/log/garbage.ts';
import { models } from '../../projections/models.ts';
import { findRows } from '../../projections/tables/extents.store.ts';
import { eraseInterval } from '../../projections/tables/table.entity.ts';
import { openQueries } from '../../src/log/model.ts';
import type { PageQueries } from '../../projections/tables/pages.queries.ts';
import type { Database } from '../../src/storage/database/database.ts';
import { verify } from '../../src/operations/replay/verify.ts';
import { scale } from '../scale.ts';
import { chooseSeed } from '../support/random.ts';
import { createGeneratedLog, openReadModel, type GeneratedLog } from './generated-log.ts';

let generated: GeneratedLog;
let database: Database;

beforeAll(async () => {
  generated = await createGeneratedLog({ seed: chooseSeed(), ...scale.compactedLog });
  database = await openReadModel(generated.url);
});

afterAll(async () => {
  await database?.close();
  await generated?.drop();
});

async function count(query: string): Promise<number> {
  return Number((await database.pool.query(`select count(*) from ${query}`)).rows[0].count);
}

/** Every row of every table, as readers get it. */
async function readAll(): Promise<string[]> {
  const { pages } = openQueries(models, database).tables;
  const { rows: tables } = await database.pool.query('select id, team_id from tables where not deleted order by id');
  const texts: string[] = [];
  for (const { id, team_id: teamId } of tables) {
    let from: Parameters<PageQueries['page']>[2] = null;
    do {
      const page = await pages.page(teamId, id, from, 70);
      if (typeof page === 'string') throw new Error(page);
      texts.push(`${id} ${page.rows.page(null).toString()}`);
      from = page.next;
    } while (from !== null);
  }
  return texts;
}

async function expectEqual(): Promise<void> {
  const { differences } = await verify({
    url: generated.url,
    log: generated.log,
    batchEvents: 500,
    onProgress: () => undefined,
    signal: new AbortController().signal,
  });
  expect(differences).toEqual([]);
}

const received = `extents join tables on tables.id = extents.table_id and tables.generation = extents.generation
and not tables.deleted
  where (extents.presented is null or extents.presented < tables.widened) and tables.tail is distinct from extents.key`;

/** Whether extents show a row, each by a change. */
const isReplaced = `exists (select from extents where extents.segment = segment_rows.segment and extents.generation in (
    select generation from tables where tables.id = extents.table_id and not deleted)
    and segment_rows.index >= extents.first and segment_rows.index < extents.first + extents.rows)
  and not exists (select from extents where extents.segment = segment_rows.segment
    and segment_rows.index >= extents.first and segment_rows.index < extents.first + extents.rows
    and not exists (select from changes where changes.extent = extents.key
    and changes.index = segment_rows.index - extents.first))
  and not exists (select from chunk_blocks where chunk_blocks.segment = segment_rows.segment)
  and not exists (select from body_blocks where body_blocks.segment = segment_rows.segment)`;

test('rows that are stored as they are presented, and together, read as before', async () => {
  const before = await readAll();
  expect(await count(received)).toBeGreaterThan(0);
  let steps = 0;
  while (await compactOnce(database)) {
    steps += 1;
    // Every single step must leave the result as it is; some are checked in between.
    if (steps % 40 === 1) expect(await readAll()).toEqual(before);
  }
  expect(steps).toBeGreaterThan(10);
  expect(await readAll()).toEqual(before);
  expect(await count(received)).toBe(0);
  expect(await count('extents where merged')).toBeGreaterThan(15);
  expect(
    await count(`(select 1 from extents where not merged and bytes < ${smallExtentBytes} and exists (
    select from tables where tables.generation = extents.generation and tables.id = extents.table_id
    and not tables.deleted
      and tables.tail is distinct from extents.key
  ) group by table_id having count(*) >= 16) scattered`),
  ).toBe(0);
  await expectEqual();
});

test('what nobody can read is gone in the end, and the rest reads as before', async () => {
  const before = await readAll();
  const held = await count('segment_rows');
  // Nothing is old enough to be removed yet.
  const young = await count('generations where not expired');
  while (await removeGarbage(models, database)) continue;
  expect(await count('generations where not expired')).toBe(young);
  expect(await count('segment_rows')).toBe(held);
  while (await models.tables.garbage['replaced_bodies']!(database, eraseInterval)) continue;
  // A body that its extents replace by changes is erased, unless a stash may show it again.
  expect(await count(`segment_rows where ${isReplaced} and body <> '{}'`)).toBe(0);
  expect(await count(`segment_rows where ${isReplaced}`)).toBeGreaterThan(0);
  expect(await readAll()).toEqual(before);
  await expectEqual();

  const day = 86_400_000;
  while (await removeGarbage(models, database, 8 * day)) continue;
  expect(await readAll()).toEqual(before);
  expect(await count('generations where not expired')).toBe(0);
  expect(await count('body_blocks')).toBe(0);
  expect(
    await count(`segment_rows where not exists (select from extents join tables on tables.id = extents.table_id
    and tables.generation = extents.generation where extents.segment = segment_rows.segment)
    and not exists (select from chunk_blocks where chunk_blocks.segment = segment_rows.segment)`),
  ).toBe(0);
  expect(
    await count('chunk_blocks where not exists (select from stashes where key = stash and ended_at is null)'),
  ).toBe(0);
  expect(await count('chunk_blocks')).toBeGreaterThan(0);
  expect(await count('stashes where ended_at is not null')).toBe(0);
  expect(
    await count(`changes where not exists (select from extents join tables on tables.id = extents.table_id
    and tables.generation = extents.generation where extents.key = changes.extent)`),
  ).toBe(0);
  expect(await count('segment_rows')).toBeLessThan(held);
  // A look-up of a removed row finds nothing.
  const { rows: gone } = await database.pool
    .query(`select extents.table_id, extents.version, extents.ordinal from extents
    join segments on segments.key = extents.segment where segments.emptied limit 50`);
  expect(gone.length).toBeGreaterThan(0);
  const wanted = gone.map(({ table_id: tableId, version, ordinal }) => ({
    tableId,
    version: BigInt(version),
    ordinal,
    index: 0,
  }));
  expect(await database.writers.with((tx) => findRows(tx, wanted))).toEqual([]);

  while (await removeGarbage(models, database, 15 * day)) continue;
  expect(await count('outcomes')).toBe(0);
  expect(await count('generations')).toBe(0);
  expect(await readAll()).toEqual(before);
});
