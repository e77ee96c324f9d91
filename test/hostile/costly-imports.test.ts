/** Imports of stashes that name very many columns. */
import { expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { newStashId, putChunks } from '../support/stashes.ts';
import { unknownTableId } from '../support/tables.ts';
import { metric, Neighbour, neighbourOf } from './neighbours.ts';

const { api } = useOwnApi();
const columns = 2000;
const chunks = 40;

/** A row whose columns no other chunk has. */
function wideRow(chunk: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: columns }, (_, at) => [`c${chunk}_${at}`, at]));
}

test('are refused before anything of them is loaded, or as soon as they name too many', async () => {
  const team = await api().createTeam();
  const { client } = team;
  const stash = { $stashID: newStashId() };
  await putChunks(
    client,
    stash.$stashID,
    Array.from({ length: chunks }, (_, chunk) => [String(chunk), [wideRow(chunk)]] as const),
  );
  const neighbour = await Neighbour.begin(await neighbourOf(api(), team));

  const imports = await Promise.all(
    Array.from({ length: 20 }, () => client.post(`/tables/${unknownTableId}/rows`, stash)),
  );
  expect(new Set(imports.map(outcomeOf))).toEqual(new Set(['404 table_not_found']));
  const created = await Promise.all(Array.from({ length: 5 }, () => client.post('/tables?name=wide', { rows: stash })));
  expect(new Set(created.map(outcomeOf))).toEqual(new Set(['400 limit_exceeded']));
  expect(created[0]!.json.error.message).toBe('the stash names more than 1000 different columns');

  expect(new Set(await neighbour.stop())).toEqual(new Set(['200']));
  expect(await metric(client, 'process_resident_memory_bytes')).toBeLessThan(512 * 1024 * 1024);
});

test('a body names no more columns than its schema could take in twice', async () => {
  const { client } = await api().createTeam();
  const outcomes = await Promise.all(
    [columns, columns + 1].map(async (count) => {
      const row = Object.fromEntries(Array.from({ length: count }, (_, at) => [`c${at}`, at]));
      return outcomeOf(await client.put(`/stashes/${newStashId()}/1`, [row]));
    }),
  );
  expect(outcomes).toEqual(['200', '400 limit_exceeded']);
});
