/** Bodies that were patched or deleted leave the read model, and nothing else does. */
import { expect, test } from '@jest/globals';
import { removeGarbage } from '../../src/log/garbage.ts';
import { openQueries } from '../../src/log/model.ts';
import { models } from '../../projections/models.ts';
import { compactOnce } from '../../projections/tables/compaction.ts';
import { eraseInterval } from '../../projections/tables/table.entity.ts';
import type { RowAddress } from '../../src/language/events/row-id.ts';
import { DrivenTeam } from './driven-team.ts';
import { useDrivenLog } from './use-driven-log.ts';

const log = useDrivenLog();
let looks = 0;

/** Collects garbage as if the next look at each extent were due. Nothing else is old enough. */
async function collect(): Promise<void> {
  looks += 1;
  const later = looks * (eraseInterval + 1000);
  const { replaced_bodies: erase } = models.tables.garbage;
  while (await erase!(log().database, later));
}

/** How many rows of segments hold this text. */
async function held(text: string): Promise<number> {
  const { rows } = await log().database.pool.query(
    'select count(*)::int as held from segment_rows where strpos(body, $1) > 0',
    [text],
  );
  return rows[0].held;
}

async function readAll(team: DrivenTeam, tableId: string): Promise<unknown[]> {
  const page = await openQueries(models, log().database).tables.pages.page(team.id, tableId, null, 100);
  if (typeof page === 'string') throw new Error(page);
  return JSON.parse(page.rows.page(null).toString()).data ?? [];
}

async function values(team: DrivenTeam, tableId: string): Promise<unknown[]> {
  return (await readAll(team, tableId)).map((row) => (row as { a?: unknown }).a);
}

const rowOf = (address: RowAddress, index: number): RowAddress => ({ ...address, index: address.index + index });
const names = (prefix: string): string[] => [0, 1, 2].map((at) => `{"a":"${prefix} ${at}"}`);

test.each(['few', 'block'] as const)('rows that came as %s', async (kind) => {
  const team = await DrivenTeam.create(log());
  const tableId = await team.table();
  const first = await team.add(tableId, kind, ...names(kind));
  await team.patch(tableId, rowOf(first, 0), '{"a":"new"}');
  await team.deleteRow(tableId, rowOf(first, 1));
  expect(await held(`${kind} `)).toBe(3);
  await collect();
  expect([await held(`${kind} 0`), await held(`${kind} 1`), await held(`${kind} 2`)]).toEqual([0, 0, 1]);
  expect(await values(team, tableId)).toEqual(['new', `${kind} 2`]);
  // The next look finds what has changed since.
  await team.patch(tableId, rowOf(first, 2), '{"a":"newer"}');
  await team.patch(tableId, rowOf(first, 0), '{"n":1}');
  await collect();
  expect(await held(`${kind} `)).toBe(0);
  expect(await values(team, tableId)).toEqual(['new', 'newer']);
});

test('compaction converts and merges what was erased, and what it has moved is looked at again', async () => {
  const team = await DrivenTeam.create(log());
  const tableId = await team.table();
  const added: RowAddress[] = [];
  for (let at = 0; at < 17; at += 1) added.push(await team.add(tableId, 'block', `{"n":${at},"a":"moved ${at}"}`));
  for (const address of added.slice(0, 5)) await team.patch(tableId, address, '{"a":"new"}');
  await collect();
  expect(await held('moved ')).toBe(12);
  const before = await readAll(team, tableId);
  // As if compaction had read it before it was erased.
  const {
    rows: [{ segment, index }],
  } = await log().database.pool.query(
    `update segment_rows set body = '{"n":0,"a":"moved 0"}'
    where (segment, index) in (select segment, first from extents where version = $1) returning segment, index`,
    [added[0]!.version],
  );
  await team.patch(tableId, added[5]!, '{"a":"new"}');
  while (await compactOnce(log().database));
  expect(await held('moved 5')).toBeGreaterThan(0);
  // The old segments are idle, and go with other garbage.
  while (await removeGarbage(models, log().database, 2 * 3_600_000));
  await collect();
  expect([await held('moved 0'), await held('moved 5')]).toEqual([0, 0]);
  expect(
    (await log().database.pool.query('select from segment_rows where segment = $1 and index = $2', [segment, index]))
      .rowCount,
  ).toBe(0);
  expect(await held('moved ')).toBe(11);
  const after = await readAll(team, tableId);
  expect(after.slice(6)).toEqual(before.slice(6));
  expect(await values(team, tableId)).toEqual([
    ...Array.from({ length: 6 }, () => 'new'),
    ...added.slice(6).map((_, at) => `moved ${at + 6}`),
  ]);
});

test('rows of a stash stay while it, or another table, shows them', async () => {
  const team = await DrivenTeam.create(log());
  const [one, other] = [await team.table(), await team.table()];
  await team.chunk('shared', ...names('chunk'));
  const inOne = await team.import(one, 'shared');
  await team.patch(one, inOne, '{"a":"new"}');
  await collect();
  expect(await held('chunk 0')).toBe(1);
  const inOther = await team.import(other, 'shared');
  await team.project(1, [team.event({ type: 'StashDeleteRequested', teamId: team.id, stashId: 'shared' })]);
  while (await models.stashes.garbage['chunks_of_ended_stashes']!(log().database, 0));
  await collect();
  expect(await held('chunk 0')).toBe(1);
  expect(await values(team, other)).toEqual(['chunk 0', 'chunk 1', 'chunk 2']);
  await team.patch(other, inOther, '{"a":"newer"}');
  await collect();
  expect([await held('chunk 0'), await held('chunk ')]).toEqual([0, 2]);
  await team.deleteRow(one, rowOf(inOne, 1));
  await collect();
  expect(await held('chunk 1')).toBe(1);
  await team.project(1, [team.deletingTable(other)]);
  while (await models.tables.garbage['ended_generations']!(log().database, 2 * 3_600_000));
  // Its own look comes although nothing has changed in the first table.
  await collect();
  expect([await held('chunk 1'), await held('chunk 2')]).toEqual([0, 1]);
  expect(await values(team, one)).toEqual(['new', 'chunk 2']);
});

test('an event that names the segment again writes it again', async () => {
  const team = await DrivenTeam.create(log());
  const [tableId, other] = [await team.table(), await team.table()];
  const event = await team.adding(tableId, 'block', names('again'));
  const [outcome] = await team.project(1, [event]);
  if (outcome!.status !== 'applied') throw new Error('refused');
  const { version, ordinal, first } = outcome!.result.rows![0]!;
  await team.patch(tableId, { version, ordinal, index: first }, '{"a":"new"}');
  await collect();
  expect(await held('again 0')).toBe(0);
  // After more than seven days of log time it counts as new.
  await team.project(1 + 8 * 86_400_000, [event, await team.adding(other, 'few', names('else'))]);
  expect(await values(team, tableId)).toEqual(['new', 'again 1', 'again 2', 'again 0', 'again 1', 'again 2']);
});

test('rows that are patched while bodies are erased read as their last patch', async () => {
  const team = await DrivenTeam.create(log());
  const tableId = await team.table();
  const rows = 20;
  const first = await team.add(tableId, 'block', ...Array.from({ length: rows }, (_, at) => `{"a":"raced ${at}"}`));
  let patching = true;
  const erasing = (async () => {
    while (patching) await collect();
  })();
  try {
    for (let at = 0; at < 10 * rows; at += 1) await team.patch(tableId, rowOf(first, at % rows), `{"a":"patch ${at}"}`);
  } finally {
    patching = false;
    await erasing;
  }
  await collect();
  expect(await held('raced ')).toBe(0);
  expect(await values(team, tableId)).toEqual(Array.from({ length: rows }, (_, at) => `patch ${9 * rows + at}`));
});
