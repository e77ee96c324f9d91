/** docs/spec/queries.md: filter, sort, fields and count of rows. */
import { expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { Client, outcomeOf } from '../support/client.ts';
import { createTable } from '../support/tables.ts';

const { client: clientOfAll, api } = useApi();

/** One process, because only the process that gave a continuation knows it. */
const client = (): Client => new Client(api().url, clientOfAll().token);

const people = [
  { name: 'Ada', age: 36, born: '1815-12-10', tags: ['maths', 'poetry'] },
  { name: 'Grace', age: 85, born: '1906-12-09', tags: ['navy'] },
  { name: 'alan', age: 41 },
  { name: 'Edsger', born: '1930-05-11', tags: [] },
];
const types = { name: 'string', age: 'number', born: 'date', tags: { kind: 'array', items: { kind: 'string' } } };

const query = (
  path: string,
  members: Readonly<Record<string, unknown>>,
): Promise<Awaited<ReturnType<ReturnType<typeof client>['get']>>> => {
  const text = (value: unknown): string =>
    encodeURIComponent(typeof value === 'string' ? value : JSON.stringify(value));
  return client().get(
    `${path}?${Object.entries(members)
      .map(([name, value]) => `${name}=${text(value)}`)
      .join('&')}`,
  );
};

test.each([
  [{ column: 'name', op: 'eq', value: 'Ada' }, ['Ada']],
  [{ column: 'age', op: 'gte', value: 41 }, ['Grace', 'alan']],
  [{ column: 'age', op: 'ne', value: 41 }, ['Ada', 'Grace', 'Edsger']],
  [{ not: { column: 'age', op: 'eq', value: 41 } }, ['Ada', 'Grace', 'Edsger']],
  [{ column: 'age', op: 'isEmpty' }, ['Edsger']],
  [{ column: 'tags', op: 'isNotEmpty' }, ['Ada', 'Grace', 'Edsger']],
  [{ column: 'tags', op: 'has', value: 'navy' }, ['Grace']],
  [{ column: 'tags', op: 'eq', value: [] }, ['Edsger']],
  [{ column: 'born', op: 'lt', value: '1906-12-09' }, ['Ada']],
  [{ column: 'name', op: 'in', value: ['alan', 'Ada', 'x'] }, ['Ada', 'alan']],
  [{ column: 'name', op: 'startsWith', value: 'A' }, ['Ada']],
  [{ column: 'name', op: 'startsWith', value: 'A', ignoreCase: true }, ['Ada', 'alan']],
  [
    {
      or: [
        { column: 'name', op: 'contains', value: 'rac' },
        {
          and: [
            { column: 'age', op: 'lt', value: 40 },
            { column: 'name', op: 'endsWith', value: 'a' },
          ],
        },
      ],
    },
    ['Ada', 'Grace'],
  ],
  [{ and: [] }, ['Ada', 'Grace', 'alan', 'Edsger']],
  [{ or: [] }, []],
])('the filter %j returns the rows that meet it', async (filter, names) => {
  const { path, version } = await createTable(client(), people, types);
  const answer = await query(path, { filter, fields: 'name', count: 'exact' });
  expect(answer.json.data?.map(({ name }: { name: string }) => name)).toEqual(names);
  expect([answer.version, answer.headers.get('tablog-count'), answer.headers.get('tablog-cache')]).toEqual([
    version,
    String(names.length),
    'cold',
  ]);
});

test.each([
  ['name', ['Ada', 'Edsger', 'Grace', 'alan']],
  ['-age', ['Grace', 'alan', 'Ada', 'Edsger']],
  ['age', ['Ada', 'alan', 'Grace', 'Edsger']],
  ['-born,name', ['Edsger', 'Grace', 'Ada', 'alan']],
])('sort=%s orders the rows', async (sort, names) => {
  const { path } = await createTable(client(), people, types);
  expect((await query(path, { sort })).json.data.map(({ name }: { name: string }) => name)).toEqual(names);
});

test.each([
  [{ filter: '{' }, '400 request_validation_error', 'query.filter: must be JSON'],
  [{ filter: '1,"sort":2' }, '400 request_validation_error', 'query.filter: must be JSON'],
  [{ filter: { column: '$rowID', op: 'eq', value: '\0' } }, '400 request_validation_error', 'query.filter: U+0000'],
  [
    { filter: { column: 'name', op: 'eq', value: '\ud800' } },
    '400 request_validation_error',
    'query.filter: a lone surrogate',
  ],
  [
    { filter: '{"column":"age","op":"lt","value":1e400}' },
    '400 request_validation_error',
    'query.filter: the number is too large',
  ],
  [
    { filter: `{"column":"tags","op":"eq","value":${'['.repeat(40)}${']'.repeat(40)}}` },
    '400 request_validation_error',
    'query.filter: nested deeper',
  ],
  [{ filter: [] }, '400 request_validation_error', 'query.filter: must be an object'],
  [
    { filter: { column: 'age', op: 'near', value: 1 } },
    '400 request_validation_error',
    'query.filter.op: must be one of eq',
  ],
  [{ filter: { and: [{ column: 'age' }] } }, '400 request_validation_error', 'query.filter.and[0].op: must be one of'],
  [
    { filter: { column: 'size', op: 'isEmpty' } },
    '422 column_id_not_found',
    'query.filter.column: the table has no column "size"',
  ],
  [
    { filter: { column: 'age', op: 'gte', value: 'old' } },
    '422 column_has_invalid_value',
    'query.filter.value: it does not fit',
  ],
  [{ filter: { column: 'tags', op: 'lt', value: [] } }, '400 request_validation_error', 'lt has no meaning for "tags"'],
  [{ sort: 'tags' }, '400 request_validation_error', 'whose values cannot be sorted'],
  [{ sort: 'size' }, '422 column_id_not_found', 'query.sort[0]: the table has no'],
  [{ fields: 'size' }, '422 column_id_not_found', 'query.fields[0]: the table has no'],
  [{ count: 'all' }, '400 request_validation_error', 'query.count'],
  [{ sort: 'name', continuation: 'page-2' }, '400 request_validation_error', 'query.continuation: no page of'],
])('the query %j is refused', async (members, outcome, message) => {
  const { path } = await createTable(client(), people, types);
  const answer = await query(path, members);
  expect([outcomeOf(answer), answer.json.error?.message]).toEqual([outcome, expect.stringContaining(message)]);
});

test('a query sees all earlier writes, and its pages stay at their version', async () => {
  const numbers = Array.from({ length: 10 }, (_, n) => ({ n }));
  const { path, rowIds } = await createTable(client(), numbers);
  const first = await query(path, { sort: '-n', limit: 4 });
  expect(first.json.data.map(({ n }: { n: number }) => n)).toEqual([9, 8, 7, 6]);
  await client().send(`${path}/${rowIds[5]}`, { method: 'PATCH', body: { n: 100 } });
  await client().send(`${path}/${rowIds[0]}`, { method: 'DELETE' });
  const { version } = await client().post(path, [{ n: -1 }]);
  const now = await query(path, { sort: '-n' });
  expect([now.version, now.headers.get('tablog-cache'), now.json.data.map(({ n }: { n: number }) => n)]).toEqual([
    version,
    'warm',
    [100, 9, 8, 7, 6, 4, 3, 2, 1, -1],
  ]);
  const second = await query(path, { continuation: first.json.continuation, limit: 4 });
  expect([second.version, second.json.data.map(({ n }: { n: number }) => n)]).toEqual([first.version, [5, 4, 3, 2]]);
  const third = await query(path, { continuation: second.json.continuation, limit: 4 });
  expect([third.json.data.map(({ n }: { n: number }) => n), third.json.continuation]).toEqual([[1, 0], undefined]);
});

const ask = (path: string, body: unknown): ReturnType<ReturnType<typeof client>['post']> =>
  client().post(path.replace(/rows$/, 'query'), body);

test('rows are grouped and counted', async () => {
  const { path } = await createTable(client(), [
    { city: 'Paris', amount: 40, on: '2024-01-01' },
    { city: 'Oslo', amount: 1.5 },
    { city: 'Paris', amount: 2, on: '2023-12-31' },
    { amount: 7 },
    { city: 'Rome' },
  ]);
  const answer = await ask(path, {
    groupBy: ['city'],
    sort: ['-total'],
    aggregate: [
      { op: 'count' },
      { op: 'sum', column: 'amount', as: 'total' },
      { op: 'max', column: 'on' },
      { op: 'count', column: 'amount', as: 'amounts' },
    ],
  });
  expect(answer.json.data).toEqual([
    { city: 'Paris', count: 2, total: 42, max_on: '2024-01-01', amounts: 2 },
    { city: null, count: 1, total: 7, max_on: null, amounts: 1 },
    { city: 'Oslo', count: 1, total: 1.5, max_on: null, amounts: 1 },
    { city: 'Rome', count: 1, total: null, max_on: null, amounts: 0 },
  ]);
  const first = await ask(path, { groupBy: ['city'], limit: 3, count: 'exact' });
  expect([first.json.data, first.headers.get('tablog-count')]).toEqual([
    [{ city: 'Oslo' }, { city: 'Paris' }, { city: 'Rome' }],
    '5',
  ]);
  expect((await ask(path, { continuation: first.json.continuation })).json).toEqual({ data: [{ city: null }] });
  expect(
    (
      await ask(path, {
        aggregate: [{ op: 'avg', column: 'amount' }],
        filter: { column: 'city', op: 'eq', value: 'Paris' },
      })
    ).json.data,
  ).toEqual([{ avg_amount: 21 }]);
});

test('times are one group exactly if their moments are equal, and each group looks different', async () => {
  const { path } = await createTable(
    client(),
    [{ t: '10:00' }, { t: '12:00+02:00' }, { t: '01:00+02:00' }, { t: '23:00' }, { t: '23:30-01:00' }, { t: '00:30' }],
    { t: 'time' },
  );
  const {
    json: { data },
  } = await ask(path, { groupBy: ['t'], aggregate: [{ op: 'count' }, { op: 'min', column: 't' }] });
  expect(data.map(({ t, count, min_t: min }: Record<string, unknown>) => [t, count, min])).toEqual(
    ['00:00:00+01:00', '00:30:00', '10:00:00', '23:00:00', '23:30:00-01:00'].map((t) => [
      t,
      t === '10:00:00' ? 2 : 1,
      t,
    ]),
  );
  for (const { t, count } of data) {
    expect((await ask(path, { filter: { column: 't', op: 'eq', value: t } })).json.data).toHaveLength(count);
  }
});

test('an empty groupBy or aggregate counts as absent', async () => {
  const { path } = await createTable(client(), people, types);
  const rows = (await ask(path, {})).json.data;
  expect((await ask(path, { groupBy: [], aggregate: [] })).json.data).toEqual(rows);
  expect((await ask(path, { groupBy: [], aggregate: [], fields: ['name'], sort: ['age'] })).json.data).toHaveLength(4);
  expect((await ask(path, { groupBy: [], aggregate: [{ op: 'count' }] })).json.data).toEqual([{ count: 4 }]);
  expect((await ask(path, { groupBy: ['name'], aggregate: [], sort: ['-name'], limit: 1 })).json.data).toEqual([
    { name: 'alan' },
  ]);
});

test('a continuation of a query needs no other parameters, and a continuation of all rows accepts only a limit', async () => {
  const { path } = await createTable(client(), people, types);
  const {
    json: { continuation },
  } = await query(path, { sort: 'name', fields: 'name', limit: 1 });
  for (const others of [
    { sort: '-name' },
    { filter: { column: 'no', op: 'eq', value: 1 } },
    { fields: 'no', count: 'exact' },
    {},
  ]) {
    const answer = await query(path, { ...others, continuation, limit: 1 });
    expect([answer.json.data.map(({ name }: { name: string }) => name), answer.headers.get('tablog-count')]).toEqual([
      ['Edsger'],
      null,
    ]);
    expect((await ask(path, { ...others, sort: ['-name'], fields: ['no'], continuation, limit: 1 })).json.data).toEqual(
      answer.json.data,
    );
  }
  expect(outcomeOf(await query(path, { filter: '{', continuation }))).toBe('400 request_validation_error');
  const {
    json: { continuation: ofAll },
  } = await client().get(`${path}?limit=1`);
  expect((await client().get(`${path}?limit=2&continuation=${ofAll}`)).json.data).toHaveLength(2);
  for (const other of [{ sort: 'name' }, { fields: 'name' }, { count: 'exact' }, { filter: { and: [] } }]) {
    expect(outcomeOf(await query(path, { ...other, continuation: ofAll }))).toBe('400 request_validation_error');
  }
});

const wide = {
  uri: 'uri',
  json: 'json',
  duration: 'duration',
  list: { kind: 'array', items: { kind: 'number' } },
  text: 'string',
};

test.each<[string, string, unknown, string]>([
  ['uri', 'contains', 'no uri', '200'],
  ['uri', 'startsWith', '', '200'],
  ['uri', 'eq', 'no uri', '422 column_has_invalid_value'],
  ['text', 'eq', false, '200'],
  ['text', 'endsWith', false, '422 column_has_invalid_value'],
  ['text', 'contains', 7, '422 column_has_invalid_value'],
  ['text', 'eq', null, '400 request_validation_error'],
  ['text', 'contains', null, '400 request_validation_error'],
  ['json', 'ne', null, '400 request_validation_error'],
  ['list', 'has', null, '400 request_validation_error'],
  ['text', 'in', ['a', null], '400 request_validation_error'],
  ['list', 'eq', [null], '422 column_has_invalid_value'],
])('a filter of %s by %s %j is %s', async (column, op, value, outcome) => {
  const { path } = await createTable(client(), [{ text: 'a' }], wide);
  expect(outcomeOf(await query(path, { filter: { column, op, value } }))).toBe(outcome);
  expect(outcomeOf(await ask(path, { filter: { not: { column, op, value } } }))).toBe(outcome);
});

test.each(['json', 'duration', 'list'])(
  '%s cannot be sorted, grouped or compared for a minimum, but can be counted',
  async (column) => {
    const { path } = await createTable(client(), [{ text: 'a' }], wide);
    const refused = '400 request_validation_error';
    expect(outcomeOf(await ask(path, { groupBy: [column] }))).toBe(refused);
    expect(outcomeOf(await ask(path, { sort: [column] }))).toBe(refused);
    expect(outcomeOf(await ask(path, { aggregate: [{ op: 'min', column }] }))).toBe(refused);
    expect((await ask(path, { aggregate: [{ op: 'countDistinct', column }] })).json.data).toEqual([
      { [`countDistinct_${column}`]: 0 },
    ]);
  },
);

test.each([
  [{ groupBy: ['name'], fields: ['name'] }, '400 request_validation_error', 'fields: has no meaning with groupBy'],
  [{ aggregate: [{ op: 'sum' }] }, '400 request_validation_error', 'aggregate[0].column: must be the ID'],
  [
    { aggregate: [{ op: 'sum', column: 'name' }] },
    '400 request_validation_error',
    'aggregate[0].column: sum needs a number column',
  ],
  [{ aggregate: [{ op: 'count' }, { op: 'count' }] }, '400 request_validation_error', 'would have "count" twice'],
  [{ groupBy: ['name'], sort: ['age'] }, '400 request_validation_error', 'sort[0]: must be a column of groupBy'],
  [{ groupBy: ['name'], sort: ['no'] }, '400 request_validation_error', 'sort[0]: must be a column of groupBy'],
  [{ groupBy: ['no'] }, '422 column_id_not_found', 'groupBy[0]: the table has no column "no"'],
  [{ groupBy: ['tags'] }, '400 request_validation_error', 'whose values cannot be sorted'],
  [{ rows: [] }, '400 request_validation_error', 'rows'],
  [{ limit: 0 }, '400 request_validation_error', 'limit: must be a whole number'],
  [{ size: 1 }, '400 request_validation_error', 'size: there is no such property'],
  [{ continuation: 'page-2' }, '400 request_validation_error', 'continuation: no page of'],
  [{ continuation: 2 }, '400 request_validation_error', 'continuation: no page of'],
  [
    { continuation: '00000000-0000-4000-8000-000000000000.00000000-0000-4000-8000-000000000000' },
    '400 continuation_expired',
    'continuation',
  ],
])('POST refuses %j', async (body, outcome, message) => {
  const { path } = await createTable(client(), people, types);
  const answer = await ask(path, body);
  expect([outcomeOf(answer), answer.json.error?.message]).toEqual([outcome, expect.stringContaining(message)]);
});

test('read-only tokens may query, and tokens of other teams and apps may not', async () => {
  const team = await api().createTeam();
  const { path } = await createTable(team.client, people, types);
  const [reader, ofApp] = await Promise.all([
    team.createToken({ readOnly: true }),
    team.createToken({ appId: 'shop' }),
  ]);
  const filter = { filter: { column: 'age', op: 'gt', value: 80 }, fields: ['name'] };
  const of = (asker: ReturnType<typeof client>): ReturnType<typeof asker.post> =>
    asker.post(path.replace(/rows$/, 'query'), filter);
  expect((await of(reader.client)).json.data).toEqual([{ $rowID: expect.any(String), name: 'Grace' }]);
  expect(outcomeOf(await of(ofApp.client))).toBe('404 table_not_found');
  expect(outcomeOf(await of(client()))).toBe('404 table_not_found');
  await team.suspend();
  expect(outcomeOf(await of(reader.client))).toBe('402 payment_required');
});

test('a query sees all changes of a request in several parts', async () => {
  // With rows this long, a part has eight changes.
  const rows = [...Array.from({ length: 40 }, (_, n) => ({ n, text: '' })), { n: 40, text: 'x'.repeat(260_000) }];
  const { path, rowIds } = await createTable(client(), rows, { n: 'number', text: 'string' });
  await query(path, { sort: 'n', fields: 'n' });
  for (const [at, id] of rowIds.slice(0, 40).entries()) {
    const answer =
      at % 3 === 0 ? await client().delete(`${path}/${id}`) : await client().patch(`${path}/${id}`, { n: 100 - at });
    expect(answer.status).toBe(200);
  }
  const expected = rows.filter((_, at) => at === 40 || at % 3 !== 0).map(({ n }) => (n === 40 ? 40 : 100 - n));
  const inOrder = await query(path, { filter: { and: [] }, fields: 'n' });
  expect([inOrder.headers.get('tablog-cache'), inOrder.json.data.map(({ n }: { n: number }) => n)]).toEqual([
    'warm',
    expected,
  ]);
});

test('a continuation of a deleted table is refused like a page', async () => {
  const { id, path } = await createTable(client(), people, types);
  const { continuation } = (await query(path, { sort: 'name', limit: 1 })).json;
  expect(outcomeOf(await query(path, { continuation }))).toBe('200');
  await client().delete(`/tables/${id}`);
  expect(outcomeOf(await query(path, { continuation }))).toBe('404 table_not_found');
});

test('a look-up of rows by their IDs needs no copy of the table', async () => {
  const { id, path, rowIds } = await createTable(
    client(),
    Array.from({ length: 100 }, (_, n) => ({ n })),
  );
  await client().patch(`${path}/${rowIds[70]}`, { n: -1 });
  await client().delete(`${path}/${rowIds[3]}`);
  const other = await createTable(client(), [{ n: 1 }]);
  const filter = {
    column: '$rowID',
    op: 'in',
    value: [rowIds[70], rowIds[3], other.rowIds[0], rowIds[9], rowIds[9], 'none', rowIds[99]],
  };
  const ask = async (members: Readonly<Record<string, unknown>>): Promise<unknown[]> => {
    const answer = await query(path, { filter, count: 'exact', ...members });
    return [
      answer.headers.get('tablog-count'),
      answer.json.data.map(({ n }: { n: number }) => n),
      answer.json.continuation,
    ];
  };
  expect(await ask({})).toEqual(['3', [9, -1, 99], undefined]);
  expect(await ask({ sort: '-n', limit: 2 })).toEqual(['3', [99, 9], expect.any(String)]);
  const { continuation } = (await query(path, { filter, sort: '-n', limit: 2 })).json;
  expect((await query(path, { continuation })).json.data.map(({ n }: { n: number }) => n)).toEqual([-1]);
  expect((await query(path, { filter: { column: '$rowID', op: 'eq', value: rowIds[5] } })).json.data).toEqual([
    { $rowID: rowIds[5], n: 5 },
  ]);

  // A retained ID names its row, not the place that the row had.
  const kept = await client().put(`/tables/${id}`, {
    rows: [{ $rowID: rowIds[50], n: 500 }, { n: 501 }, { $rowID: rowIds[9], n: 502 }],
  });
  expect(kept.status).toBe(200);
  const all = { column: '$rowID', op: 'in', value: [rowIds[9], rowIds[50], rowIds[70], ...kept.json.data.rowIDs] };
  expect((await query(path, { filter: all })).json.data.map(({ n }: { n: number }) => n)).toEqual([500, 501, 502]);
  // A query for other rows makes the copy.
  expect((await query(path, { sort: 'n' })).headers.get('tablog-cache')).toBe('cold');
});

test('in JSON a column whose ID begins with a minus is sorted by', async () => {
  const { path } = await createTable(client(), [
    { '-5': 2, '5': 1, 'n': 'b' },
    { '-5': 1, '5': 2, 'n': 'a' },
    { '-5': 3, '5': 3, 'n': 'c' },
  ]);
  const names = async (sort: readonly unknown[]): Promise<string[]> => {
    const answers = [
      await query(path, { sort: JSON.stringify(sort) }),
      await client().post(path.replace(/rows$/, 'query'), { sort }),
    ];
    const [first, second] = answers.map(({ json }) => json.data.map(({ n }: { n: string }) => n).join(''));
    return [...new Set([first!, second!])];
  };
  expect(await names([{ column: '-5' }])).toEqual(['abc']);
  expect(await names([{ column: '-5', descending: true }])).toEqual(['cba']);
  expect(await names(['--5'])).toEqual(['cba']);
  expect(await names(['-5'])).toEqual(['cab']);
  expect(await names([{ column: 'n', descending: false }, '5'])).toEqual(['abc']);
  for (const [sort, message] of [
    [[{ column: '' }], 'sort[0].column: must be the ID of a column'],
    [[{ column: 'n', x: 1 }], 'sort[0].x: there is no such property'],
    [[{ column: 'n', descending: 1 }], 'sort[0].descending: must be true or false'],
    [[{}], 'sort[0].column: must be the ID of a column'],
    [[['n']], 'sort[0]: must be the ID of a column'],
    [['-n', { column: 'n', descending: true }], 'sort[1]: is named twice'],
  ] as const)
    expect((await query(path, { sort: JSON.stringify(sort) })).json.error.message).toContain(message);
});

test('a number in a filter keeps its digits', async () => {
  const rows = ['4.20', '4.2', '9007199254740993', '1e2'].map((price, n) => ({ price, n: n + 0.5 }));
  const { path } = await createTable(client(), rows, { price: 'string', n: 'number' });
  const queryPath = path.replace(/rows$/, 'query');
  const ask = async (comparison: string): Promise<readonly string[][]> => {
    const byUrl = await query(path, { filter: comparison, fields: 'price' });
    const byBody = await client().post(queryPath, `{"filter":${comparison},"fields":["price"],"limit":5.0}`);
    return [byUrl, byBody].map(({ json }) => json.data.map(({ price }: { price: string }) => price));
  };
  for (const [comparison, found] of [
    ['{"column":"price","op":"eq","value":4.20}', ['4.20']],
    ['{"column":"price","op":"eq","value":4.2}', ['4.2']],
    ['{"column":"price","op":"in","value":[1e2,4.20]}', ['4.20', '1e2']],
    ['{"column":"price","op":"eq","value":9007199254740993}', ['9007199254740993']],
    ['{"column":"price","op":"in","value":[9007199254740992]}', []],
    ['{"column":"n","op":"eq","value":1.50}', ['4.2']],
    ['{"column":"n","op":"lt","value":0.15e1}', ['4.20']],
  ] as const)
    expect([comparison, await ask(comparison)]).toEqual([comparison, [found, found]]);
  const big = (column: string): string => `{"column":"${column}","op":"eq","value":9007199254740993}`;
  expect(outcomeOf(await query(path, { filter: big('n') }))).toBe('422 column_has_invalid_value');
  expect(outcomeOf(await client().post(queryPath, `{"filter":${big('n')}}`))).toBe('422 column_has_invalid_value');
  expect(outcomeOf(await query(path, { filter: '4.20' }))).toBe('400 request_validation_error');

  // Further pages keep the digits too.
  const filter = '{"column":"price","op":"in","value":[4.20,1e2]}';
  const first = await query(path, { filter, limit: '1' });
  const second = await query(path, { continuation: first.json.continuation });
  expect([first, second].map(({ json }) => json.data.map(({ price }: { price: string }) => price))).toEqual([
    ['4.20'],
    ['1e2'],
  ]);
});
