/** Spec section 3, decisions 3 and 6: a stash exists for a limited time, and its rows are removed later. */
import { expect, test } from '@jest/globals';
import { removeGarbage } from '../../src/log/garbage.ts';
import { models } from '../../projections/models.ts';
import { expireStashes } from '../../src/operations/maintenance/expire-stashes.ts';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { useOperator } from '../support/operator.ts';
import { sleepUntil } from '../support/server.ts';
import { expectStored, newStashId, putChunks, stashOf } from '../support/stashes.ts';
import { cellsOf, createTable, leavingUnchanged } from '../support/tables.ts';

/** Long enough for a slow machine to import a stash that was just filled. */
const lifeMs = 4000;
const hour = 3_600_000;
/** The tests run maintenance themselves. */
const { api, client } = useOwnApi({ STASH_LIFE_MS: String(lifeMs), MAINTENANCE_INTERVAL_MS: '3600000' });
const operator = useOperator({ api });

const importOf = (stashId: string): Promise<Answer> =>
  client().post('/tables', { name: 'n', rows: { $stashID: stashId } });

/** The stash is checked before the schema, so this request never imports it. */
const schema = {
  columns: [
    { id: 'a', type: 'number' },
    { id: 'a', type: 'number' },
  ],
};

/** Waits until the stash cannot be imported any more, by the clock of the service and by that of the operator. */
async function untilExpired(stashId: string, by = client()): Promise<void> {
  const [stash] = await ask<{ expires: string }>('select max(expires_at) as expires from stashes where stash_id = $1', [
    stashId,
  ]);
  await sleepUntil(
    async () => (await by.post('/tables', { name: 'n', rows: { $stashID: stashId }, schema })).status === 400,
    `stash ${stashId} has expired`,
  );
  await sleepUntil(() => operator().log.now() > Number(stash!.expires), 'the operator says so too');
}

async function ask<T>(query: string, values: readonly unknown[]): Promise<T[]> {
  const { rows } = await operator().database.pool.query(query, [...values]);
  return rows as T[];
}

test('an expired stash does not exist, and the rows that were imported from it stay', async () => {
  const stashId = await stashOf(client(), { 1: [{ n: 1 }], 2: [{ n: 2 }] });
  const imported = await importOf(stashId);
  expect(outcomeOf(imported)).toBe('201');
  const table = await createTable(client(), [{ n: 7 }], { n: 'number' });
  await untilExpired(stashId);
  await leavingUnchanged(client(), table.path, async () => {
    for (const answer of [
      await importOf(stashId),
      await client().post('/tables', { name: 'n', rows: { $stashID: stashId }, schema: { columns: [] } }),
      await client().post(table.path, { $stashID: stashId }),
      await client().put(`/tables/${table.id}`, { $stashID: stashId }),
    ]) {
      expect([outcomeOf(answer), answer.json.error.message]).toEqual([
        '400 stash_not_found',
        `stash ${stashId} has expired`,
      ]);
    }
  });
  expectStored(await client().delete(`/stashes/${stashId}`));
  expect((await importOf(stashId)).json.error.message).toBe(`stash ${stashId} has expired`);
  expect(cellsOf(await client().rows(imported.json.data.tableID))).toEqual([{ n: 1 }, { n: 2 }]);
});

test('the life of a stash begins with its first chunk, and a chunk after its end makes a new stash', async () => {
  const stashId = newStashId();
  const sent = performance.now();
  await putChunks(client(), stashId, [['1', [{ n: 1 }]]]);
  while (performance.now() - sent < lifeMs / 2) await putChunks(client(), stashId, [['2', [{ n: 2 }]]]);
  await untilExpired(stashId);
  // It expired although chunks kept arriving.
  await putChunks(client(), stashId, [['2', [{ n: 22 }]]]);
  const again = await importOf(stashId);
  expect(cellsOf(await client().rows(again.json.data.tableID))).toEqual([{ n: 22 }]);
  const stashes = await ask<{ ended: boolean; chunks: number }>(
    'select ended_at is not null as ended, chunks from stashes where stash_id = $1 order by created',
    [stashId],
  );
  expect(stashes).toEqual([
    { ended: true, chunks: 2 },
    { ended: false, chunks: 1 },
  ]);
});

test('the rows of expired stashes are removed, and imported rows stay', async () => {
  const { database, log } = operator();
  const stashIds = await Promise.all(
    Array.from({ length: 3 }, (_, n) => stashOf(client(), { 1: [{ n }], 2: [{ n: n + 10 }] })),
  );
  const [first] = stashIds;
  const imported = await importOf(first!);
  expect(outcomeOf(imported)).toBe('201');
  const heldBy = `from chunk_blocks join stashes on stashes.key = chunk_blocks.stash where stash_id = any($1)`;
  const held = await ask<{ segment: string; stash: string }>(`select segment, stash_id as stash ${heldBy}`, [stashIds]);
  expect(held).toHaveLength(6);
  for (const stashId of stashIds) await untilExpired(stashId);
  const young = await stashOf(client(), { 1: [{ n: 99 }] });

  const ended = () =>
    ask<{ count: string }>('select count(*) from stashes where stash_id = any($1) and ended_at = expires_at', [
      stashIds,
    ]);
  // The report may be repeated, also by several processes at once.
  await Promise.all([expireStashes(database, log, 0), expireStashes(database, log, 0)]);
  expect(await expireStashes(database, log, 0)).toBe(false);
  expect(await ended()).toEqual([{ count: '3' }]);
  expect((await importOf(first!)).json.error.message).toBe(`stash ${first} has expired`);

  // The record of their end is kept for a week.
  while (await removeGarbage(models, database, 2 * hour));
  expect(await ask(`select segment ${heldBy}`, [stashIds])).toEqual([]);
  expect(await ended()).toEqual([{ count: '3' }]);
  const segments = await ask<{ key: string }>('select key from segments where key = any($1::int8[]) order by key', [
    held.map(({ segment }) => segment),
  ]);
  const shown = held.filter(({ stash }) => stash === first).map(({ segment }) => segment);
  expect(segments.map(({ key }) => key)).toEqual(shown.toSorted((a, b) => Number(BigInt(a) - BigInt(b))));
  expect(cellsOf(await client().rows(imported.json.data.tableID))).toEqual([{ n: 0 }, { n: 10 }]);
  expect(await ask(`select serial ${heldBy}`, [[young]])).toEqual([{ serial: '1' }]);

  while (await removeGarbage(models, database, 8 * 24 * hour));
  expect(await ended()).toEqual([{ count: '0' }]);
  expect(cellsOf(await client().rows(imported.json.data.tableID))).toEqual([{ n: 0 }, { n: 10 }]);
});

test('expired stashes are ended in several steps', async () => {
  const { database, log } = operator();
  const { client: by, id } = await api().createTeam();
  const stashIds = await Promise.all(Array.from({ length: 46 }, () => stashOf(by, { 1: [{ n: 1 }] })));
  for (const stashId of stashIds) await untilExpired(stashId, by);
  let steps = 1;
  while (await expireStashes(database, log, 0)) steps += 1;
  expect(steps).toBeGreaterThan(1);
  expect(await ask('select ended_at = expires_at as ended from stashes where team_id = $1', [id])).toEqual(
    stashIds.map(() => ({ ended: true })),
  );
});
