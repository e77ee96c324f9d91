/** `GET /uploads`, decisions 3: the uploads of a team, newest first. */
import { beforeAll, expect, test } from '@jest/globals';
import { promptly, useApi, type Team } from '../support/api.ts';
import { outcomeOf, type Client } from '../support/client.ts';
import { useOperator } from '../support/operator.ts';
import { createTable } from '../support/tables.ts';
import { complete, postUpload, picture, sendBytes, upload, withdraw } from '../support/uploads.ts';

const { api } = useApi(promptly);
const operator = useOperator({ api });

interface ListedUpload {
  readonly id: string;
  readonly status: string;
}

const uploadsOf = async (client: Client, query = ''): Promise<ListedUpload[]> =>
  (await client.get(`/uploads${query}`)).json.data;
const idsOf = async (client: Client, query = ''): Promise<string[]> =>
  (await uploadsOf(client, query)).map(({ id }) => id);

let team: Team;
beforeAll(async () => {
  team = await api().createTeam();
});

test('a team without uploads has an empty list, which is not kept by caches', async () => {
  const answer = await team.client.get('/uploads');
  expect([answer.text, answer.headers.get('cache-control')]).toEqual(['{"data":[]}', 'no-store']);
});

test('an upload shows its file and its state', async () => {
  const { client } = await api().createTeam();
  const name = 'ä 😀 "quoted".txt';
  const withdrawn = await upload(client, 'gone');
  await withdraw(client, withdrawn);
  const expired = await postUpload(client);
  await operator().database.pool.query('update uploads set expires_at = created_at where id = $1', [expired.id]);
  const completed = await upload(client, 'Hello.', { contentType: 'text/plain', fileName: name });
  const open = await postUpload(client, picture, 'store');
  const common = {
    contentType: picture.contentType,
    fileName: picture.fileName,
    created: expect.any(String),
    appID: 'shop',
  };
  const listed = await uploadsOf(client);
  expect(listed).toEqual([
    { ...common, id: open.id, status: 'open', appID: 'store', expires: expect.any(String) },
    {
      ...common,
      id: completed.id,
      status: 'complete',
      contentType: 'text/plain',
      fileName: name,
      size: 6,
      url: expect.stringContaining('/files/'),
    },
    { ...common, id: expired.id, status: 'withdrawn' },
    { ...common, id: withdrawn.id, status: 'withdrawn' },
  ]);
  const { url } = listed[1] as ListedUpload & { readonly url: string };
  expect(await (await fetch(url)).text()).toBe('Hello.');
  expect(new URL(url).pathname).toBe(new URL(completed.url).pathname);
});

test('an upload whose completion was refused is withdrawn, and rows that name a file change nothing in the list', async () => {
  const other = await api().createTeam();
  const { client } = other;
  const { id, url } = await upload(client, 'Hello.');
  await createTable(client, [{ picture: url }]);
  await other.setPlan({ uploadBytesMax: 6 });
  const tooMuch = await postUpload(client);
  await sendBytes(tooMuch, 'more');
  expect(outcomeOf(await complete(client, tooMuch))).toBe('402 payment_required');
  expect((await uploadsOf(client)).map((one) => [one.id, one.status])).toEqual([
    [tooMuch.id, 'withdrawn'],
    [id, 'complete'],
  ]);
});

test('pages continue each other, newest first, even if uploads are created and withdrawn meanwhile', async () => {
  const { client } = await api().createTeam();
  const ids: string[] = [];
  for (let n = 0; n < 7; n += 1) ids.unshift((await postUpload(client)).id);
  const found: string[] = [];
  const sizes: number[] = [];
  let query = '?limit=3';
  for (;;) {
    const { data, continuation } = (await client.get(`/uploads${query}`)).json;
    found.push(...data.map(({ id }: ListedUpload) => id));
    sizes.push(data.length);
    if (continuation === undefined) break;
    await postUpload(client);
    await withdraw(client, { id: found.at(-1)! });
    query = `?limit=3&continuation=${continuation}`;
  }
  expect([found, sizes]).toEqual([ids, [3, 3, 1]]);
});

test('no team sees uploads of another team, and the token of an app sees only uploads of the app', async () => {
  const other = await api().createTeam();
  const [reader, ofStore] = await Promise.all([
    other.createToken({ readOnly: true }),
    other.createToken({ appId: 'store' }),
  ]);
  const shop = await postUpload(other.client);
  const stores: string[] = [];
  for (let n = 0; n < 3; n += 1) stores.unshift((await postUpload(other.client, picture, 'store')).id);
  expect(await idsOf(reader.client)).toEqual([...stores, shop.id]);
  expect(await idsOf(ofStore.client)).toEqual(stores);
  const { continuation } = (await ofStore.client.get('/uploads?limit=2')).json;
  expect(await idsOf(ofStore.client, `?continuation=${continuation}`)).toEqual(stores.slice(2));
  expect(await idsOf(team.client)).toEqual([]);
  expect(outcomeOf(await team.client.get(`/uploads?continuation=${continuation}`))).toBe(
    '400 request_validation_error',
  );
});

test.each(['limit=0', 'limit=x', 'continuation=x', 'status=open'])('?%s is refused', async (query) => {
  expect(outcomeOf(await team.client.get(`/uploads?${query}`))).toBe('400 request_validation_error');
});

test('a continuation of a list of tables is refused', async () => {
  const { client } = await api().createTeam();
  for (let n = 0; n < 2; n += 1) await createTable(client, []);
  const { continuation } = (await client.get('/tables?limit=1')).json;
  expect(outcomeOf(await client.get(`/uploads?continuation=${continuation}`))).toBe('400 request_validation_error');
});
