/**
 * Decisions 3: the header only permits a job. Work that is done soon is answered at once, with and without the header.
 */
import { expect, test } from '@jest/globals';
import { useOwnApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import { untilDone } from '../support/jobs.ts';
import { createTable } from '../support/tables.ts';

const { client } = useOwnApi({ ASYNC_WAIT_MS: '60000' });
const permitted = { 'x-service-asynchronous': 'true' };

test('small work is answered at once', async () => {
  const created = await client().post('/tables', { name: 'n', rows: [{ a: 1 }] }, permitted);
  expect(outcomeOf(created)).toBe('201');
  const path = `/tables/${created.json.data.tableID}/rows`;
  expect(outcomeOf(await client().post(path, [{ a: 2 }], permitted))).toBe('201');
  expect(outcomeOf(await client().post(path, [{ a: 'x' }], permitted))).toBe('422 column_has_invalid_value');
  expect(await client().rows(created.json.data.tableID)).toHaveLength(2);
});

test('a client that handles both answers gets the same result from either', async () => {
  const table = await createTable(client(), []);
  const added: string[] = [];
  for (let round = 0; round < 20; round += 1) {
    const { status, json } = await client().post(
      `${table.path}?onSchemaError=updateSchema`,
      [{ round }, { round }],
      permitted,
    );
    const data = status === 202 ? (await untilDone(client(), json.data.jobID)).json.data.result : json.data;
    added.push(...data.rowIDs);
  }
  expect((await client().rows(table.id)).map(({ $rowID }) => $rowID)).toEqual(added);
});
