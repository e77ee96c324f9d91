/** Decisions 5: the bounds of a stash. Maintenance removes no rows from a stash or from the tables that imported it. */
import { describe, expect, test } from '@jest/globals';
import { compactOnce } from '../../projections/tables/compaction.ts';
import { removeGarbage } from '../../src/log/garbage.ts';
import { models } from '../../projections/models.ts';
import { expireStashes } from '../../src/operations/maintenance/expire-stashes.ts';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { useOperator } from '../support/operator.ts';
import { expectStored, newStashId, putChunks, stashOf } from '../support/stashes.ts';
import { cellsOf, createTable } from '../support/tables.ts';

/** The tests run maintenance themselves. */
const { api, client } = useOwnApi({
  STASH_CHUNKS_MAX: '40',
  STASH_ROWS_MAX: '9000',
  MAINTENANCE_INTERVAL_MS: '3600000',
});
const operator = useOperator({ api });
const exceeded = '400 limit_exceeded';

const numbered = (from: number, count: number): { n: number }[] =>
  Array.from({ length: count }, (_, at) => ({ n: from + at }));
const put = (stashId: string, serial: number, rows: unknown): Promise<Answer> =>
  client().put(`/stashes/${stashId}/${serial}`, rows);

async function numbersIn(stashId: string): Promise<unknown[]> {
  const { json } = await client().post('/tables', { name: 'n', rows: { $stashID: stashId } });
  return (await client().rows(json.data.tableID)).map(({ n }) => n);
}

describe('a stash', () => {
  test('takes exactly as many chunks as are allowed', async () => {
    const stashId = newStashId();
    const answers = await Promise.all(Array.from({ length: 43 }, (_, n) => put(stashId, n, [{ n }])));
    expect(answers.map(outcomeOf).toSorted()).toEqual([
      ...Array.from({ length: 40 }, () => '200'),
      exceeded,
      exceeded,
      exceeded,
    ]);
    const refused = answers.find(({ status }) => status === 400)!;
    expect(refused.json.error.message).toBe('the stash would have more than 40 chunks');
    const taken = answers.flatMap(({ status }, n) => (status === 200 ? [n] : []));
    expect(await numbersIn(stashId)).toEqual(taken);
    // Existing chunks can be sent again, and another stash begins at 0.
    expectStored(await put(stashId, taken[0]!, [{ n: -1 }]));
    expect(outcomeOf(await put(stashId, 100, []))).toBe(exceeded);
    expect(await numbersIn(stashId)).toEqual([-1, ...taken.slice(1)]);
    expectStored(await client().delete(`/stashes/${stashId}`));
    expectStored(await put(stashId, 100, [{ n: 5 }]));
    expect(await numbersIn(stashId)).toEqual([5]);
  });

  test('takes exactly as many rows as are allowed', async () => {
    const stashId = newStashId();
    expectStored(await put(stashId, 1, numbered(0, 5000)));
    expectStored(await put(stashId, 2, numbered(5000, 4000)));
    const answer = await put(stashId, 3, numbered(9000, 1));
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([
      exceeded,
      'the stash would have more than 9000 rows',
    ]);
    expectStored(await put(stashId, 3, []));
    expect(outcomeOf(await put(stashId, 2, numbered(5000, 4001)))).toBe(exceeded);
    expectStored(await put(stashId, 2, numbered(5000, 3999)));
    expectStored(await put(stashId, 3, numbered(8999, 1)));
    expect(await numbersIn(stashId)).toEqual(numbered(0, 9000).map(({ n }) => n));
  });
});

/** In milliseconds. */
const years = 1e12;

async function doMaintenance(): Promise<void> {
  const { database } = operator();
  while ((await compactOnce(database)) || (await removeGarbage(models, database, years)));
}

describe('maintenance', () => {
  const of = (stashId: string): string => `stash in (select key from stashes where stash_id = '${stashId}')`;

  async function count(query: string): Promise<number> {
    const {
      rows: [row],
    } = await operator().database.pool.query<{ count: string }>(`select count(*) from ${query}`);
    return Number(row!.count);
  }

  test('merges the rows of small chunks, and each table shows the same rows as before', async () => {
    const table = await createTable(client(), numbered(0, 30), { n: 'number' });
    const other = await createTable(client(), [], { n: 'string' });
    const chunks = Array.from(
      { length: 30 },
      (_, at) => [String(at), [{ n: at * 10, $rowID: table.rowIds[29 - at] }, { n: at * 10 + 1 }]] as const,
    );
    const stashId = newStashId();
    await putChunks(client(), stashId, chunks);
    const { rowIDs } = (await client().put(`/tables/${table.id}`, { $stashID: stashId })).json.data;
    const added = (await client().post(table.path, { $stashID: stashId })).json.data.rowIDs;
    await client().post(other.path, { $stashID: stashId });
    await client().patch(`${table.path}/${rowIDs[4]}`, { n: -1 });
    await client().delete(`${table.path}/${added[5]}`);
    const before = [await client().rows(table.id), await client().rows(other.id)];
    expect(before[0]!.map(({ $rowID }) => $rowID)).toEqual([
      ...rowIDs,
      ...added.filter((id: string) => id !== added[5]),
    ]);
    await doMaintenance();
    expect([await client().rows(table.id), await client().rows(other.id)]).toEqual(before);
    expect(await count('extents where merged')).toBeGreaterThan(80);
    expect((await client().get(`${table.path}/${table.rowIds[29]}`)).json.data).toEqual({
      $rowID: table.rowIds[29],
      n: 0,
    });
    expect(await client().put(`/tables/${table.id}`, { $stashID: stashId })).toMatchObject({ status: 200 });
    expect((await client().rows(table.id)).map(({ n }) => n)).toEqual(
      chunks.flatMap(([, rows]) => rows.map(({ n }) => n)),
    );
  });

  test('removes replaced chunks and those of a deleted stash, and keeps imported rows', async () => {
    const stashId = await stashOf(client(), { 1: numbered(0, 10), 2: numbered(10, 10) });
    const kept = await createTable(client(), [], { n: 'number' });
    expect(outcomeOf(await client().post(kept.path, { $stashID: stashId }))).toBe('201');
    // The first stash has been imported, and no table shows a chunk that the second one replaces.
    await putChunks(client(), stashId, [
      ['1', numbered(100, 7)],
      ['1', numbered(200, 8)],
    ]);
    await doMaintenance();
    expect(await count(`chunk_blocks where ${of(stashId)}`)).toBe(2);
    expect(await count('chunk_blocks where stash is null')).toBe(0);
    expect(await numbersIn(stashId)).toEqual([...numbered(200, 8), ...numbered(10, 10)].map(({ n }) => n));

    const segments = `segments where key in (select segment from chunk_blocks where ${of(stashId)})`;
    expect(await count(segments)).toBe(2);
    const { rows: held } = await operator().database.pool.query<{ segment: string }>(
      `select segment from chunk_blocks where ${of(stashId)}`,
    );
    expectStored(await client().delete(`/stashes/${stashId}`));
    await doMaintenance();
    expect(await count(`stashes where stash_id = '${stashId}'`)).toBe(0);
    // A table shows both of these. No table showed the other chunk.
    expect(await count(`segments where key in (${held.map(({ segment }) => segment).join(', ')})`)).toBe(2);
    expect(
      await count(
        'segment_rows where not exists (select from segments where key = segment) and not exists (select from extents where extents.segment = segment_rows.segment)',
      ),
    ).toBe(0);
    expect(cellsOf(await client().rows(kept.id))).toEqual(numbered(0, 20));
    expect(outcomeOf(await client().post(kept.path, { $stashID: stashId }))).toBe('400 stash_not_found');
  });

  test('removes everything of a stash that nobody imported', async () => {
    const { id, client: by } = await api().createTeam();
    const rows = Array.from({ length: 3000 }, (_, n) => ({ n, text: 'x'.repeat(900) }));
    const held = await count('segments');
    const stashId = await stashOf(by, { 1: rows, 2: [{ n: 1, $rowID: 'AAAAAAAAAAEAAAAAAAAAAA' }], 3: 'a,b\n' });
    expect(await count('segments')).toBeGreaterThanOrEqual(held + 4);
    expect(await count(`body_blocks where team_id = '${id}'`)).toBeGreaterThan(2);
    expectStored(await by.delete(`/stashes/${stashId}`));
    await doMaintenance();
    expect(await count(`stashes where team_id = '${id}'`)).toBe(0);
    expect(await count(`body_blocks where team_id = '${id}'`)).toBe(0);
    expect(await count('chunk_blocks where stash not in (select key from stashes)')).toBe(0);
    expect(await count('retained_ids where segment not in (select key from segments)')).toBe(0);
    expect(await count('segments')).toBeLessThanOrEqual(held);
  });
});

test('a stash that is reported as expired too early stays, and the report is not repeated for ever', async () => {
  const { database, log } = operator();
  const stashId = await stashOf(client(), { 1: [{ n: 1 }] });
  // Stashes live 48 hours here. This call treats stashes that expire within 49 hours as expired.
  expect(await expireStashes(database, log, -49 * 3_600_000)).toBe(false);
  const { rows } = await database.pool.query('select ended_at from stashes where stash_id = $1', [stashId]);
  expect(rows).toEqual([{ ended_at: null }]);
  expect(await numbersIn(stashId)).toEqual([1]);
});
