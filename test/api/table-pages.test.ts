/** Decisions 3: the pages of a team's tables. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { useApi, type Team } from '../support/api.ts';
import { outcomeOf, type Client } from '../support/client.ts';
import { chooseSeed, Random } from '../support/random.ts';
import { createTable } from '../support/tables.ts';

const { api } = useApi();

interface TablesPage {
  readonly data: readonly { readonly id: string; readonly name: string }[];
  readonly continuation?: string;
}

async function pageOf(client: Client, limit: number, continuation?: string): Promise<TablesPage> {
  const answer = await client.get(
    `/tables?limit=${limit}${continuation === undefined ? '' : `&continuation=${continuation}`}`,
  );
  expect(outcomeOf(answer)).toBe('200');
  return answer.json;
}

/** The IDs of each page; between two pages, something may happen. */
async function pagesOf(
  client: Client,
  limit: number,
  between: () => Promise<void> = async () => undefined,
): Promise<string[][]> {
  const pages: string[][] = [];
  for (let continuation: string | undefined, isFirst = true; isFirst || continuation !== undefined; isFirst = false) {
    if (!isFirst) await between();
    const page = await pageOf(client, limit, continuation);
    pages.push(page.data.map(({ id }) => id));
    ({ continuation } = page);
  }
  return pages;
}

describe('of five tables', () => {
  let team: Team;
  let ids: string[];
  beforeAll(async () => {
    team = await api().createTeam();
    ids = [];
    for (let made = 0; made < 5; made += 1) ids.push((await createTable(team.client, [])).id);
  });

  test.each([
    [1, [1, 1, 1, 1, 1]],
    [2, [2, 2, 1]],
    [3, [3, 2]],
    [5, [5]],
    [6, [5]],
    [1_000_000, [5]],
  ])('with a limit of %d', async (limit, sizes) => {
    const pages = await pagesOf(team.client, limit);
    expect(pages.map(({ length }) => length)).toEqual(sizes);
    expect(pages.flat()).toEqual(ids);
  });

  test('without a limit, all tables are one page without a continuation', async () => {
    expect(Object.keys((await team.client.get('/tables')).json)).toEqual(['data']);
  });

  test('a page continues after the last table of the previous page, even if that table is deleted', async () => {
    const { continuation } = await pageOf(team.client, 2);
    await team.client.delete(`/tables/${ids[1]}`);
    expect((await pageOf(team.client, 2, continuation)).data.map(({ id }) => id)).toEqual([ids[2], ids[3]]);
    ids.splice(1, 1);
  });

  test.each(['limit=0', 'limit=-1', 'limit=x', 'limit=1&limit=2', 'continuation=x', `continuation=${'A'.repeat(40)}`])(
    '?%s is refused',
    async (query) => {
      expect(outcomeOf(await team.client.get(`/tables?${query}`))).toBe('400 request_validation_error');
    },
  );

  test('a continuation of another team, or of rows, is refused', async () => {
    const other = await api().createTeam();
    const { id } = await createTable(other.client, [{ a: 1 }, { a: 2 }]);
    await createTable(other.client, []);
    const rows = (await other.client.get(`/tables/${id}/rows?limit=1`)).json.continuation as string;
    for (const continuation of [(await pageOf(other.client, 1)).continuation!, rows]) {
      const answer = await team.client.get(`/tables?continuation=${continuation}`);
      expect(answer.text).toContain('query.continuation: no page of these tables has returned this continuation.');
      expect(answer.status).toBe(400);
    }
  });
});

test('a list that the database returns in several parts is complete', async () => {
  const { client } = await api().createTeam();
  const name = 'é'.repeat(500);
  const made = await Promise.all(
    Array.from(
      { length: 80 },
      async () => (await client.post('/tables', { name, rows: [] })).json.data.tableID as string,
    ),
  );
  const { data } = (await client.get('/tables')).json as TablesPage;
  expect(data.map((table) => table.name)).toEqual(made.map(() => name));
  expect(data.map(({ id }) => id).toSorted()).toEqual(made.toSorted());
});

test("the token of an app gets pages with only the app's tables", async () => {
  const team = await api().createTeam();
  const { client: ofApp } = await team.createToken({ appId: 'a' });
  const linked: string[] = [];
  for (let made = 0; made < 7; made += 1) {
    const client = made % 2 === 0 ? ofApp : team.client;
    const { id } = await createTable(client, []);
    if (client === ofApp) linked.push(id);
  }
  const pages = await pagesOf(ofApp, 2);
  expect(pages.map(({ length }) => length)).toEqual([2, 2]);
  expect(pages.flat()).toEqual(linked);
});

test('if tables are created and deleted meanwhile, no other table is skipped or repeated', async () => {
  const seed = chooseSeed();
  const random = new Random(seed);
  const { client } = await api().createTeam();
  const create = async (): Promise<string> => (await createTable(client, [])).id;
  const present = await Promise.all(Array.from({ length: 20 }, create));
  let changes = 0;
  for (let round = 0; round < 5; round += 1) {
    const before = new Set((await pagesOf(client, 1000)).flat());
    const deleted = new Set<string>();
    const pages = await pagesOf(client, 1 + random.below(6), async () => {
      for (let left = 1 + random.below(3); left > 0; left -= 1, changes += 1) {
        if (random.chance(0.5)) present.push(await create());
        else {
          const [id] = present.splice(random.below(present.length), 1);
          await client.delete(`/tables/${id}`);
          deleted.add(id!);
        }
      }
    });
    const listed = pages.flat();
    expect(new Set(listed).size).toBe(listed.length);
    expect([...before].filter((id) => !deleted.has(id) && !listed.includes(id))).toEqual([]);
    const now = (await pagesOf(client, 1000)).flat();
    expect(listed.filter((id) => now.includes(id))).toEqual(now.filter((id) => listed.includes(id)));
  }
  expect(changes).toBeGreaterThan(10);
});
