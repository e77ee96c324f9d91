/** `Accept: text/csv` on rows (docs/spec/decisions.md 3, queries.md): pages as CSV. */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { Client, outcomeOf, type Answer } from '../support/client.ts';
import { createTable, type MadeTable } from '../support/tables.ts';

const { client: clientOfAll, api } = useApi();

/** One process, because only the process that gave a continuation of a query knows it. */
const client = (): Client => new Client(api().url, clientOfAll().token);

const csv = { accept: 'text/csv' };
const people = [
  { name: 'Ada, Countess', age: 36, tags: ['maths', 'poetry'], note: { a: [1] } },
  { name: 'Grace', age: 85.5 },
  { age: 41, note: 'x' },
  {},
];
const types = { name: 'string', age: 'number', tags: { kind: 'array', items: { kind: 'string' } }, note: 'json' };

const table = (): Promise<MadeTable> => createTable(client(), people, types);

/** The lines of an answer, with the IDs of rows as their numbers. */
function linesOf({ text }: Answer, { rowIds }: MadeTable): string[] {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => line.replace(/^[\w-]{22}/, (id) => String(rowIds.indexOf(id))));
}

const all = [
  '$rowID,name,age,tags,note',
  '0,"Ada, Countess",36,"[""maths"",""poetry""]","{""a"":[1]}"',
  '1,Grace,85.5,,',
  '2,,41,,"""x"""',
  '3,,,,',
];

test('a page', async () => {
  const made = await table();
  const answer = await client().get(made.path, csv);
  expect([answer.status, linesOf(answer, made), answer.version]).toEqual([200, all, made.version]);
  expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
  expect(answer.headers.get('vary')).toBe('Accept, Accept-Encoding, Authorization');
  expect([answer.headers.get('tablog-continuation'), answer.headers.get('link')]).toEqual([null, null]);
  expect((await client().get(made.path, { ...csv, 'if-none-match': `"${made.version}"` })).status).toBe(304);
  expect((await client().get(made.path)).headers.get('vary')).toBe('Accept, Accept-Encoding, Authorization');
});

test.each([
  ['', all.slice(1)],
  ['&sort=-age', [1, 2, 0, 3].map((row) => all[row + 1]!)],
])('pages continue by their headers, with limit=3%s', async (query, lines) => {
  const made = await table();
  const first = await client().get(`${made.path}?limit=3${query}`, csv);
  const next = first.headers.get('tablog-continuation')!;
  expect(first.headers.get('link')).toBe(`<${made.path}?limit=3&continuation=${next}>; rel="next"`);
  const second = await client().get(`${made.path}?limit=3&continuation=${next}`, csv);
  expect([linesOf(first, made), linesOf(second, made)]).toEqual([
    [all[0], ...lines.slice(0, 3)],
    [all[0], lines[3]],
  ]);
  expect(second.headers.get('tablog-continuation')).toBeNull();
  // A client may change its mind between two pages.
  expect((await client().get(`${made.path}?continuation=${next}`)).json.data).toHaveLength(1);
});

test('a query', async () => {
  const made = await table();
  const filter = encodeURIComponent(JSON.stringify({ column: 'age', op: 'gt', value: 40 }));
  const answer = await client().get(`${made.path}?filter=${filter}&fields=note,$version,name&count=exact`, csv);
  expect(linesOf(answer, made)).toEqual([
    '$rowID,note,$version,name',
    `1,,${made.version},Grace`,
    `2,"""x""",${made.version},`,
  ]);
  expect([answer.headers.get('tablog-count'), answer.version]).toEqual(['2', made.version]);
});

test('groups are answered as CSV', async () => {
  const made = await createTable(client(), [{ city: 'Paris, France', n: 1 }, { n: 2 }, { city: 'Oslo', n: 4 }]);
  const body = { groupBy: ['city'], aggregate: [{ op: 'sum', column: 'n', as: 'the "sum"' }], limit: 2 };
  const first = await client().post(made.path.replace(/rows$/, 'query'), body, csv);
  expect(first.text).toBe('city,"the ""sum"""\nOslo,4\n"Paris, France",1\n');
  const next = /^<(.*)>; rel="next"$/.exec(first.headers.get('link')!)![1]!;
  expect((await client().get(next, csv)).text).toBe('city,"the ""sum"""\n,2\n');
});

test('a table without rows or columns has a header', async () => {
  const made = await createTable(client(), []);
  for (const query of ['', '?count=exact']) expect((await client().get(made.path + query, csv)).text).toBe('$rowID\n');
});

test('a replaced generation keeps its columns', async () => {
  const made = await createTable(client(), [{ a: 1 }, { a: 2 }]);
  const first = await client().get(`${made.path}?limit=1`, csv);
  const replaced = await client().put(made.path.replace(/\/rows$/, ''), {
    schema: { columns: [{ id: 'b', type: 'string' }] },
    rows: [{ b: 'x' }],
  });
  expect(replaced.status).toBe(200);
  const second = await client().get(`${made.path}?continuation=${first.headers.get('tablog-continuation')}`, csv);
  expect(second.text).toMatch(/^\$rowID,a\n[\w-]{22},2\n$/);
});

test('an export in this form can overwrite the table, and its rows keep their IDs', async () => {
  const made = await table();
  const { text } = await client().get(made.path, csv);
  const path = made.path.replace(/\/rows$/, '');
  const answer = await client().put(path, text, { 'content-type': 'text/csv' });
  expect([answer.status, answer.json.data.rowIDs]).toEqual([200, made.rowIds]);
  expect((await client().get(made.path, csv)).text).toBe(text);
});

test.each<[string, string, string, Record<string, string>, string]>([
  ['a query parameter that is not known', 'GET', '/rows?no=1', {}, '406'],
  ['an unknown table', 'GET', '', {}, '406'],
  ['a malformed If-Match', 'PUT', '', { 'if-match': 'x' }, '406'],
  ['no body', 'POST', '/rows', {}, '406'],
  ['a wrong token', 'GET', '/rows', { authorization: 'Bearer x' }, '404 request_error'],
  ['an unknown path', 'GET', '/no', {}, '404 not_found'],
  ['a wrong method', 'POST', '', {}, '405'],
])('406 comes after or before %s', async (_name, method, path, headers, outcome) => {
  const answer = await client().send(`/tables/00000000-0000-7000-8000-000000000000${path}`, {
    method,
    headers: { accept: 'image/png', ...headers },
  });
  expect(outcomeOf(answer)).toMatch(new RegExp(`^${outcome}`));
});

test.each(['application/xml', 'text/html, image/*'])('Accept: %s is 406', async (accept) => {
  const made = await table();
  const answer = await client().get(made.path, { accept });
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([
    '406 not_acceptable',
    'Accept: this path has none of these media types. It answers with application/json or text/csv.',
  ]);
  expect((await client().post(made.path, [{}], { accept })).status).toBe(406);
  expect((await client().get(made.path)).json.data).toHaveLength(people.length);
});
