/**
 * The copies of tables that the query engine keeps: a team with very many copies does not displace the copies of other
 * teams.
 */
import { expect, test } from '@jest/globals';
import type { Answer, Client } from '../support/client.ts';
import { useOwnApi } from '../support/api.ts';
import { createTable, type MadeTable } from '../support/tables.ts';

const { api } = useOwnApi({});

/** More than the engine may keep. */
const many = 210;
/** How many tables are created and counted in parallel. */
const atOnce = 7;

const count = (client: Client, { path }: Pick<MadeTable, 'path'>): Promise<Answer> =>
  client.get(`${path}?filter={"and":[]}&count=exact&limit=1`);

test.each([
  [
    'look-ups that may go on',
    async (client: Client) => {
      const { path, rowIds } = await createTable(client, [{ n: 1 }, { n: 2 }]);
      for (let asked = 0; asked < many; asked += 1) {
        const answer = await client.post(path.replace(/rows$/, 'query'), {
          filter: { column: '$rowID', op: 'in', value: rowIds },
          limit: 1,
        });
        expect([answer.status, answer.json.continuation]).toEqual([200, expect.any(String)]);
      }
    },
  ],
  [
    'small tables',
    async (client: Client) => {
      for (let made = 0; made < many; made += atOnce) {
        const counted = Array.from({ length: atOnce }, async () =>
          count(client, await createTable(client, [{ n: made }])),
        );
        for (const { status } of await Promise.all(counted)) expect(status).toBe(200);
      }
    },
  ],
])('a team that makes many copies does not slow down the copies of another team: %s', async (_name, takeMany) => {
  const [quiet, busy] = [await api().createTeam(), await api().createTeam()];
  const table = await createTable(quiet.client, [{ n: 1 }]);
  expect((await count(quiet.client, table)).headers.get('tablog-cache')).toBe('cold');
  await takeMany(busy.client);
  const third = await api().createTeam();
  expect((await count(third.client, await createTable(third.client, [{ n: 1 }]))).status).toBe(200);
  expect((await count(quiet.client, table)).headers.get('tablog-cache')).toBe('warm');
});
