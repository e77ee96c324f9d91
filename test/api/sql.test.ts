/**
 * docs/spec/queries.md, "SQL": answers, and the types of their columns. Queries that are refused are in
 * sql-attempts.test.ts.
 */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { useApi, type Team } from '../support/api.ts';
import { outcomeOf, type Answer } from '../support/client.ts';
import { arrayOf, createTable, type MadeTable } from '../support/tables.ts';

const { client, api } = useApi();

let team: Team;
let cars: MadeTable;
const rows = [
  {
    Name: 'Beetle',
    Origin: 'Europe',
    Power: 46,
    at: '2024-03-01T10:00:00+02:00',
    on: '2024-03-01',
    time: '01:30:00+02:00',
    tags: ['a', 'b'],
    any: { x: 1 },
    open: true,
  },
  { Name: 'Civic', Origin: 'Japan', Power: 97.5 },
  { Name: 'Corolla', Origin: 'Japan', Power: 65 },
];
const types = {
  Name: 'string',
  Origin: 'string',
  Power: 'number',
  at: 'dateTime',
  on: 'date',
  time: 'time',
  tags: arrayOf('string'),
  any: 'json',
  open: 'boolean',
  times: arrayOf('time'),
  many: arrayOf('json'),
};

/** Gives a table a name. */
const named = async (table: MadeTable, name: string): Promise<MadeTable> => {
  await team.client.send(`/tables/${table.id}`, { method: 'PATCH', body: { name } });
  return table;
};

beforeAll(async () => {
  team = await api().createTeam();
  cars = await named(await createTable(team.client, rows, types), 'cars');
});

const ask = (sql: string, parameters?: unknown): Promise<Answer> =>
  team.client.post('/query', { sql, ...(parameters === undefined ? {} : { parameters }) });

test.each<[string, unknown, unknown]>([
  // Clauses
  ['SELECT 1 AS one', undefined, [{ one: 1 }]],
  ['SELECT Name FROM cars ORDER BY Power DESC LIMIT 1', undefined, [{ Name: 'Civic' }]],
  [
    'select cars.Name from cars where cars."Power" > 60 order by 1;',
    undefined,
    [{ Name: 'Civic' }, { Name: 'Corolla' }],
  ],
  ['FROM cars SELECT count(*)', undefined, [{ count: 3 }]],
  [
    'SELECT Origin, count(*), sum(Power) AS power FROM cars GROUP BY ALL ORDER BY 2',
    undefined,
    [
      { Origin: 'Europe', count: 1, power: 46 },
      { Origin: 'Japan', count: 2, power: 162.5 },
    ],
  ],
  ['SELECT Origin FROM cars GROUP BY Origin HAVING count(*) > 1', undefined, [{ Origin: 'Japan' }]],
  [
    'SELECT Origin, grouping(Origin) AS g, count(*) AS n FROM cars GROUP BY ROLLUP (Origin) ORDER BY g, n',
    undefined,
    [
      { Origin: 'Europe', g: 0, n: 1 },
      { Origin: 'Japan', g: 0, n: 2 },
      { Origin: null, g: 1, n: 3 },
    ],
  ],
  [
    'SELECT DISTINCT ON (Origin) Name FROM cars ORDER BY Origin, Power DESC',
    undefined,
    [{ Name: 'Beetle' }, { Name: 'Civic' }],
  ],
  [
    'SELECT Name FROM cars QUALIFY row_number() OVER (PARTITION BY Origin ORDER BY Power) = 1 ORDER BY ALL',
    undefined,
    [{ Name: 'Beetle' }, { Name: 'Corolla' }],
  ],
  [
    'SELECT count("$rowID") AS ids, min("$version") = max("$version") AS same FROM cars',
    undefined,
    [{ ids: 3, same: true }],
  ],
  [
    'SELECT * EXCLUDE ("$rowID", "$version", "at", "on", time, tags, "any", open, times, many) REPLACE (Power * 2 AS Power) RENAME (Origin AS "from") FROM cars LIMIT 1',
    undefined,
    [{ Name: 'Beetle', from: 'Europe', Power: 92 }],
  ],
  // Several tables and queries
  [
    'SELECT a.Name, b.Name FROM cars a JOIN cars b ON a.Origin = b.Origin AND a.Power < b.Power',
    undefined,
    [{ Name: 'Corolla', Name_1: 'Civic' }],
  ],
  ['SELECT count(*) AS n FROM cars LEFT JOIN cars others USING (Origin)', undefined, [{ n: 5 }]],
  [
    "SELECT Name FROM cars SEMI JOIN (VALUES ('Japan')) o(Origin) USING (Origin) ORDER BY Name",
    undefined,
    [{ Name: 'Civic' }, { Name: 'Corolla' }],
  ],
  [
    'SELECT a.Power, b.Power AS before FROM cars a ASOF LEFT JOIN cars b ON a.Power > b.Power ORDER BY 1',
    undefined,
    [
      { Power: 46, before: null },
      { Power: 65, before: 46 },
      { Power: 97.5, before: 65 },
    ],
  ],
  ["SELECT l.n FROM cars, LATERAL (SELECT Power + 1 AS n) l WHERE Origin = 'Europe'", undefined, [{ n: 47 }]],
  [
    'SELECT (SELECT max(Power) FROM cars c WHERE c.Origin = cars.Origin) AS best FROM cars ORDER BY 1 LIMIT 1',
    undefined,
    [{ best: 46 }],
  ],
  [
    'SELECT Name FROM cars WHERE Power >= ALL (SELECT Power FROM cars) OR EXISTS (SELECT 1 WHERE Power = 46) ORDER BY 1',
    undefined,
    [{ Name: 'Beetle' }, { Name: 'Civic' }],
  ],
  ["(SELECT Name FROM cars LIMIT 0) UNION SELECT 'x'", undefined, [{ Name: 'x' }]],
  [
    'SELECT 1 AS a UNION ALL BY NAME SELECT 2 AS b ORDER BY a',
    undefined,
    [
      { a: 1, b: null },
      { a: null, b: 2 },
    ],
  ],
  [
    'WITH strong AS (SELECT * FROM cars WHERE Power > 50), n AS (SELECT count(*) AS n FROM strong) SELECT n FROM n',
    undefined,
    [{ n: 2 }],
  ],
  ['WITH cars AS (SELECT count(*) AS n FROM cars) SELECT n FROM cars', undefined, [{ n: 3 }]],
  [
    'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4) SELECT sum(i) AS sum FROM n',
    undefined,
    [{ sum: 10 }],
  ],
  ['SELECT i FROM range(3) t(i)', undefined, [{ i: 0 }, { i: 1 }, { i: 2 }]],
  ["SELECT * FROM (VALUES (1, 'a')) t(n, s)", undefined, [{ n: 1, s: 'a' }]],
  // Windows, lists, JSON
  [
    'SELECT Name, rank() OVER (PARTITION BY Origin ORDER BY Power) AS place FROM cars ORDER BY Name',
    undefined,
    [
      { Name: 'Beetle', place: 1 },
      { Name: 'Civic', place: 2 },
      { Name: 'Corolla', place: 1 },
    ],
  ],
  [
    'SELECT sum(Power) OVER (ORDER BY Power ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS two, lag(Power, 1, 0) OVER (ORDER BY Power) FROM cars',
    undefined,
    [
      { two: 46, lag: 0 },
      { two: 111, lag: 46 },
      { two: 162.5, lag: 65 },
    ],
  ],
  ['SELECT unnest(tags) AS tag FROM cars', undefined, [{ tag: 'a' }, { tag: 'b' }]],
  ["SELECT t.tag FROM cars, unnest(tags) t(tag) WHERE tag <> 'a'", undefined, [{ tag: 'b' }]],
  [
    "SELECT \"any\"->>'$.x' AS x, list_transform(tags, t -> upper(t)) AS tags, [t || '!' for t in tags if t = 'a'] AS some FROM cars WHERE \"any\" IS NOT NULL",
    undefined,
    [{ x: '1', tags: ['A', 'B'], some: ['a!'] }],
  ],
  [
    "SELECT string_agg(Name, ', ' ORDER BY Name DESC) AS names, count(*) FILTER (Power > 50) AS strong FROM cars",
    undefined,
    [{ names: 'Corolla, Civic, Beetle', strong: 2 }],
  ],
  // Parameters
  [
    'SELECT Name FROM cars WHERE Power > $1 AND Origin = $2 ORDER BY 1',
    [60, 'Japan'],
    [{ Name: 'Civic' }, { Name: 'Corolla' }],
  ],
  ['SELECT ? AS a, ? AS b', [true, null], [{ a: true, b: null }]],
  [
    'SELECT $least AS n, Name FROM cars WHERE Power > $least LIMIT $limit',
    { least: 90.5, limit: 1 },
    [{ n: 90.5, Name: 'Civic' }],
  ],
  ['SELECT Name FROM cars WHERE "on" = $1', ['2024-03-01'], [{ Name: 'Beetle' }]],
  ['SELECT $1 AS x', ["'; DROP TABLE x; --"], [{ x: "'; DROP TABLE x; --" }]],
])('SQL answers its rows: %s %j', async (sql, parameters, data) => {
  const answer = await ask(sql, parameters);
  expect([outcomeOf(answer), answer.json.data ?? answer.json.error.message]).toEqual(['200', data]);
});

test.each<[string, string, unknown]>([
  ['SELECT id FROM ids WHERE id = $1', '[9007199254740994]', [{ id: '9007199254740994' }]],
  ['SELECT id FROM ids WHERE id = $1', '[1152921504606846976]', [{ id: '1152921504606846976' }]],
  ['SELECT id FROM ids WHERE id = $id', '{"id":-170141183460469231731687303715884105728}', []],
  ['SELECT id FROM ids WHERE id = $1', '["9007199254740993"]', [{ id: '9007199254740993' }]],
  [
    'SELECT id FROM ids WHERE id = $1',
    '[9007199254740993]',
    'parameters[0]: 9007199254740993 is an integer that a 64-bit floating-point number cannot hold exactly: send it as a text',
  ],
  [
    'SELECT id FROM ids WHERE id = $id',
    '{"id":-9007199254740993}',
    'parameters.id: -9007199254740993 is an integer that a 64-bit floating-point number cannot hold exactly: send it as a text',
  ],
  ['SELECT 1', '[1e999]', 'parameters: the number is too large to be stored'],
  ['SELECT $1 AS a, $2 AS b, $3 AS c, $4 AS d', '[4.20,1E3,-0,1e30]', [{ a: 4.2, b: 1000, c: 0, d: 1e30 }]],
  [
    'SELECT $1 AS a, $2 AS b',
    '[9007199254740994,340282366920938463463374607431768211456]',
    [{ a: '9007199254740994', b: 3.402823669209385e38 }],
  ],
  ["SELECT length(repeat('x', $1)) AS n", '[70000.0]', 'repeat makes a text or list of more than 65536 bytes'],
])('a parameter keeps its digits, or is refused: %s, with %s', async (sql, parameters, expected) => {
  const others = [
    '9007199254740992',
    '9007199254740993',
    '9007199254740994',
    '1152921504606846975',
    '1152921504606846976',
    '1152921504606846977',
  ];
  const table = await createTable(
    team.client,
    others.map((id) => ({ id })),
    { id: 'string' },
  );
  const answer = await team.client.post(
    '/query',
    `{"sql":${JSON.stringify(sql.replace('ids', `"${table.id}"`))},"parameters":${parameters}}`,
  );
  if (typeof expected === 'string')
    expect([answer.status, answer.json.error.message]).toEqual([
      expected.includes('an integer') ? 422 : 400,
      expect.stringContaining(expected),
    ]);
  else expect([outcomeOf(answer), answer.json.data]).toEqual(['200', expected]);
});

/** Values as they are shown, and their types. */
test.each<[string, unknown, unknown]>([
  ['Name', 'Beetle', 'string'],
  ['Power', 46, 'number'],
  ['open', true, 'boolean'],
  ['"at"', '2024-03-01T08:00:00Z', 'dateTime'],
  ['"on"', '2024-03-01', 'date'],
  ['time', '23:30:00', 'time'],
  ['tags', ['a', 'b'], arrayOf('string')],
  ['"any"', { x: 1 }, 'json'],
  ['times', null, arrayOf('time')],
  ['many', null, 'json'],
  ['count(*) OVER ()', 3, 'number'],
  ['9007199254740993', '9007199254740993', 'number'],
  ['1.5::DECIMAL(4,2)', 1.5, 'number'],
  ["'nan'::DOUBLE", null, 'number'],
  ['1e300 * 1e300', null, 'number'],
  ['NULL', null, 'number'],
  ['INTERVAL 90 MINUTE', '01:30:00', 'string'],
  ["'\\xAB'::BLOB", 'qw==', 'string'],
  ["DATE '2024-03-01' + 1", '2024-03-02', 'date'],
  ['["at"]', ['2024-03-01T08:00:00Z'], arrayOf('dateTime')],
  ['to_timestamp(0)', '1970-01-01T00:00:00Z', 'dateTime'],
  ["'infinity'::DATE", null, 'date'],
  ["'-infinity'::TIMESTAMP", null, 'dateTime'],
  ["'0044-03-15 (BC)'::DATE", '-000043-03-15', 'date'],
  ['[1, 2.5]', [1, 2.5], arrayOf('number')],
  [
    "[DATE '0001-01-01' - 1, '0044-03-15 (BC)', '12024-01-01', 'infinity']",
    ['0000-12-31', '-000043-03-15', '+012024-01-01', null],
    arrayOf('date'),
  ],
  ["[TIMESTAMP '0001-01-01 (BC) 10:00:00.5', '-infinity']", ['0000-01-01T10:00:00.5Z', null], arrayOf('dateTime')],
  ["TIMESTAMP '0001-01-01 (BC) 10:00:00.5'", '0000-01-01T10:00:00.5Z', 'dateTime'],
  [
    "{a: ['0001-01-01 (BC)'::DATE], b: TIMESTAMPTZ '0044-03-15 (BC) 10:00:00+00', c: map {DATE '0001-01-01 (BC)': 1}}",
    { a: ['0000-01-01'], b: '-000043-03-15T10:00:00Z', c: { '0000-01-01': 1 } },
    'json',
  ],
  ['[[1]]', [[1]], 'json'],
  ["['nan'::DOUBLE, 1]", [null, 1], arrayOf('number')],
  ['{\'a B\': 1, c: {d: "at"}}', { 'a B': 1, 'c': { d: '2024-03-01T08:00:00Z' } }, 'json'],
  ["map {'NaN': 'a_b'}", { NaN: 'a_b' }, 'json'],
  ['json_extract("any", \'$.x\')', 1, 'json'],
  ['\'{"__Host-a": 1, "__": 2, "a___41_": 3}\'::JSON', { '__Host-a': 1, '__': 2, 'a___41_': 3 }, 'json'],
  ['array_agg({n: Name}) OVER ()', [{ n: 'Beetle' }, { n: 'Civic' }, { n: 'Corolla' }], 'json'],
])('the expression %s keeps its type and value', async (expression, value, type) => {
  const answer = await ask(`SELECT ${expression} AS v FROM cars ORDER BY Name LIMIT 1`);
  expect([answer.json.data ?? answer.json.error.message, answer.json.columns]).toEqual([
    [{ v: value }],
    [{ name: 'v', type }],
  ]);
});

test('columns without names have those of their functions', async () => {
  const { json } = await ask(
    'SELECT Name, count(*) OVER (), max(Power) OVER (), 1 + 1, 2, CASE WHEN true THEN 1 END, Power::INT FROM cars LIMIT 1',
  );
  expect(json.columns.map(({ name }: { name: string }) => name)).toEqual([
    'Name',
    'count',
    'max',
    'column',
    'column_1',
    'case',
    'column_2',
  ]);
});

test('a table is named by its ID, and the answer has its version and all earlier writes', async () => {
  const { path, id } = await createTable(team.client, [{ n: 1 }]);
  const { version } = await team.client.post(path, [{ n: 2 }]);
  const answer = await ask(`SELECT sum(n) AS sum FROM "${id.toUpperCase()}"`);
  expect(answer.json).toEqual({
    data: [{ sum: 3 }],
    columns: [{ name: 'sum', type: 'number' }],
    versions: { [id]: String(version) },
  });
  expect(answer.headers.get('tablog-cache')).toBe('cold');
});

test('names that differ by case are different', async () => {
  const { id } = await createTable(team.client, [{ 'a': 1, 'A': 2, 'ä"; --': 3 }]);
  expect((await ask(`SELECT a, A, a + A AS sum, max(A) AS "Max" FROM "${id}" AS T GROUP BY ALL`)).json.data).toEqual([
    { a: 1, A: 2, sum: 3, Max: 2 },
  ]);
  expect((await ask(`SELECT *, T."ä""; --" AS x FROM "${id}" AS T`)).json.data).toEqual([
    { 'a': 1, 'A': 2, 'ä"; --': 3, '$rowID': expect.any(String), '$version': expect.any(Number), 'x': 3 },
  ]);
  const { error } = (await ask(`SELECT B FROM "${id}"`)).json;
  expect(error).toEqual({
    type: 'query_invalid',
    message: expect.stringMatching(/Referenced column "B" not found.*\n.*"A"/),
  });
});

test('two tables with the same name are named by ID', async () => {
  const [first] = await Promise.all([1, 2].map(async (n) => named(await createTable(team.client, [{ n }]), 'twice')));
  const answer = await ask('SELECT * FROM twice');
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([
    '400 query_invalid',
    'Several tables have the name "twice": name the table by its ID.',
  ]);
  expect((await ask(`SELECT n FROM "${first!.id}"`)).json.data).toEqual([{ n: 1 }]);
});

describe('CSV', () => {
  const sql = 'SELECT Name, Power, tags, "any", NULL AS none FROM cars ORDER BY Name LIMIT 2';
  const csv = 'Name,Power,tags,any,none\nBeetle,46,"[""a"",""b""]","{""x"":1}",\nCivic,97.5,,,\n';

  test.each<[string, unknown, Record<string, string>, boolean]>([
    ['by the body', { sql, format: 'csv' }, {}, true],
    ['by Accept', { sql }, { accept: 'application/json;q=0.1, text/csv' }, true],
    ['the body goes before Accept', { sql, format: 'json' }, { accept: 'text/csv' }, false],
    ['JSON else', { sql }, { accept: '*/*' }, false],
  ])('CSV is chosen %s', async (_name, body, headers, isCsv) => {
    const answer = await team.client.send('/query', { method: 'POST', body, headers });
    expect(answer.headers.get('content-type')).toBe(
      isCsv ? 'text/csv; charset=utf-8' : 'application/json; charset=utf-8',
    );
    if (isCsv) expect(answer.text).toBe(csv);
  });

  test('has a number after a repeated name, and only a header if there are no rows', async () => {
    expect((await team.client.post('/query', { sql: 'SELECT 1 AS a, 2 AS a WHERE false', format: 'csv' })).text).toBe(
      'a,a_1\n',
    );
  });
});

test.each<[unknown, string]>([
  [{}, 'sql: must be a text'],
  [{ sql: 1 }, 'sql: must be a text'],
  [{ sql: ' ' }, 'sql: must be a text'],
  [{ sql: 'SELECT 1', parameters: 1 }, 'parameters: must be'],
  [{ sql: 'SELECT 1', parameters: [[]] }, 'parameters: must be'],
  [{ sql: 'SELECT 1', format: 'xml' }, 'format: must be'],
  [{ sql: 'SELECT 1', limit: 1 }, 'limit: there is no such property'],
])('%j is malformed', async (body, message) => {
  const answer = await team.client.post('/query', body);
  expect([outcomeOf(answer), answer.json.error.message]).toEqual([
    '400 request_validation_error',
    expect.stringContaining(message),
  ]);
});

describe('who may ask', () => {
  test('read-only tokens may', async () => {
    const { client: reader } = await team.createToken({ readOnly: true });
    expect((await reader.post('/query', { sql: 'SELECT count(*) AS n FROM cars' })).json.data).toEqual([{ n: 3 }]);
  });

  test("tokens of an app see the app's tables, and other teams see nothing", async () => {
    const { client: ofApp } = await team.createToken({ appId: 'shop' });
    await team.client.post('/tables', { name: 'linked', rows: [{ n: 1 }], appsToLink: ['shop'] });
    expect((await ofApp.post('/query', { sql: 'SELECT n FROM linked' })).json.data).toEqual([{ n: 1 }]);
    for (const name of ['cars', `"${cars.id}"`]) {
      for (const asker of [client(), ofApp])
        expect(outcomeOf(await asker.post('/query', { sql: `SELECT * FROM ${name}` }))).toBe('400 query_invalid');
    }
  });

  test('a suspended team may not, even if the query reads no table', async () => {
    const other = await api().createTeam();
    await other.suspend();
    expect(outcomeOf(await other.client.post('/query', { sql: 'SELECT 1' }))).toBe('402 payment_required');
  });
});

test('a column with only empty cells differs from every value', async () => {
  const { id } = await named(
    await createTable(team.client, [{ n: 1 }, { n: 2 }], { n: 'number', none: 'string' }),
    'empty',
  );
  for (const condition of [
    "none IS DISTINCT FROM 'x'",
    "NOT (none IS NOT DISTINCT FROM 'x')",
    "n IS DISTINCT FROM 3 AND none IS DISTINCT FROM 'x'",
  ]) {
    expect((await ask(`SELECT count(*) AS n FROM empty WHERE (${condition}) OR none < 'a'`)).json.data).toEqual([
      { n: 2 },
    ]);
  }
  const filter = {
    or: [
      { column: 'none', op: 'ne', value: 'x' },
      { column: 'none', op: 'lt', value: 'a' },
    ],
  };
  expect((await team.client.post(`/tables/${id}/query`, { filter, count: 'exact' })).headers.get('tablog-count')).toBe(
    '2',
  );
});

test('names of columns never collide with names that the engine uses itself', async () => {
  const names = [
    'n',
    'N',
    'c0',
    'c1',
    'C1',
    'o0',
    'o1',
    'row_id',
    'row_version',
    'body',
    'since',
    'until',
    'version',
    'ordinal',
    'index',
    'rows',
    'cells',
    't',
    'w0',
    '_p0',
    'select',
    'a"b',
    'ä',
    'Ä',
    '__6e_',
  ];
  // Each column has another order.
  const cell = (row: number, column: number): number => (row * 5 + column * 3) % 29;
  const made = Array.from({ length: 5 }, (_, row) =>
    Object.fromEntries(names.map((name, column) => [name, cell(row, column)])),
  );
  await named(
    await createTable(team.client, made, Object.fromEntries(names.map((name) => [name, 'number']))),
    'internal',
  );
  const quoted = names.map((name) => `"${name.replaceAll('"', '""')}"`);
  const { data } = (
    await ask(
      `SELECT ${quoted.join(', ')} FROM internal WHERE ${quoted.map((name) => `${name} >= 0`).join(' AND ')} ORDER BY "c1"`,
    )
  ).json;
  expect(data).toEqual(made.toSorted((a, b) => a['c1']! - b['c1']!));
});
