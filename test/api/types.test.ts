/** Decisions 2 and 6: which values fit which types, inference, widening, and the order of refusals. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf, type Client } from '../support/client.ts';
import {
  allTypes, arrayOf, boundOf, itemOf, naturalType, presented, scalarKinds, typeInSchema, type Json,
} from '../support/column-types.ts';
import { cellsOf, createTable, leavingUnchanged, unknownTableId, type MadeTable } from '../support/tables.ts';

const { client, api } = useApi();
const misfit = '422 column_has_invalid_value';
const malformed = '400 request_validation_error';

const texts = ['', 'plain text', 'äöü 😀', 'true', '1'];
const uris = ['https://example.com/a?b=c#d', 'mailto:a@b.c', 'urn:isbn:0451450523', 'data:,x', 'a:b', 'HTTP://EXAMPLE.COM/%20'];
const days = ['2024-02-29', '1999-12-31', '0001-01-01', '9999-12-31', '2000-02-29'];
const moments = ['2024-02-29T23:59:59Z', '2024-01-01T00:00', '2024-01-01T00:00:00', '2024-01-01T12:30:15.123456+02:00', '2024-01-01T12:30-11:30'];

/** What fits each scalar type, and what does not, beside what the other types' values say. */
const values: Readonly<Record<string, { fit: Json[]; misfit: Json[] }>> = {
  string: { fit: [...texts, ...uris, ...days, 1, 2.5, true, false], misfit: [] },
  markdown: { fit: [...texts, '# Title\n\n* item', 1, 2.5, true], misfit: [] },
  uri: { fit: uris, misfit: ['', 'example.com', '/a/b', '//example.com/a', 'https://exa mple.com', 'https:', ':a', '1a:b', ' a:b', 'a:b ', 'a:\nb', 1, true] },
  imageURI: { fit: uris, misfit: ['', 'example.com', 'a.png', 'https://a b', 1, false] },
  audioURI: { fit: uris, misfit: ['', 'example.com', 'a.mp3', 'https://a b', 1, false] },
  emailAddress: {
    fit: ['a@b', 'first.last+tag@sub.example.com', '.@b', '!#$%&\'*/=?^_`{|}~-@b-c.d', `a@${'b'.repeat(63)}.c`],
    misfit: ['', 'a', '@b', 'a@', 'a@b@c', 'a@-b', 'a@b-', 'a@b..c', 'a b@c', 'a@b c', 'ä@b.c', 'a@ä.c', `a@${'b'.repeat(64)}`, '<a@b>', 1],
  },
  phoneNumber: {
    fit: ['123', '+49 30 1234567', '(030) 123-456', '030.123.456', '+1 (555) 010-9999 x123', '5550100x9', '1'.repeat(32)],
    misfit: ['', '12', '1'.repeat(33), '+', 'abc', '123a', '12+3', '++123', '123x', 'x123', '1/23', '123\n', '１２３', 123],
  },
  emoji: {
    fit: ['😀', '❤️', '👨‍👩‍👧‍👦', '🇩🇪', '1️⃣', '👍🏽', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '🏳️‍🌈', '⌚'],
    misfit: ['', 'a', '1', '😀😀', '😀 ', ' 😀', '❤', '🇩', '\u200d', '\ufe0f', 'a😀', 1],
  },
  date: { fit: days, misfit: ['', '2023-02-29', '1900-02-29', '2024-13-01', '2024-00-01', '2024-01-00', '2024-04-31', '24-01-01', '2024-1-1', '20240101', '2024-01-01 ', '+2024-01-01', '2024-01', ...moments, 20240101] },
  time: {
    fit: ['00:00', '23:59', '12:30:15', '12:30:15.5', '12:30:15.123', '12:30Z', '12:30:15+02:00', '12:30-05:30'],
    misfit: ['', '24:00', '12:60', '12:30:61', '1:30', '12', '1230', '12:30 ', '12:30:', '12:30:15.', '12:30+25:00', '12:30 PM', 1230, ...days],
  },
  dateTime: {
    fit: [...days, ...moments],
    misfit: ['', '2023-02-29T00:00:00Z', '2024-01-01T24:30:00Z', '2024-01-01T12:60:00Z', '2024-01-01T', '2024-01-01T12', '2024-01-01T12:30:15.Z', '2024-01-01T12:30ZZ', '2024-01-01T12:30:15+2', '1704067200', 'now', 1704067200],
  },
  duration: {
    fit: ['P1D', 'P1Y2M3DT4H5M6S', 'PT0S', 'P4W', 'PT1.5S', 'P1Y', 'PT36H', 'PT1M'],
    misfit: ['', 'P', 'PT', 'P1', '1D', 'P1DT', 'P1S', 'PT1D', 'P1M1Y', 'p1d ', 'P1D ', '1:30', 60],
  },
  number: { fit: [0, -1, 1.5, 1e300, -2.5e-10, 9007199254740992], misfit: ['1', '', '1.5', true, 'NaN'] },
  boolean: { fit: [true, false], misfit: ['true', '', 0, 1] },
  json: { fit: ['', 'x', 1, true, [], [1, 'x', null], [[1]], {}, { a: { b: [null, { c: 1 }] } }], misfit: [] },
};
const composed: Json[] = [[], ['x'], [1], [null], [[1]], {}, { a: 1 }];

/** Adds each value in a row of its own, and gives what was taken of it. */
async function takenBy(reader: Client, table: MadeTable, cells: readonly Json[], mode: string): Promise<(Json | undefined)[]> {
  if (cells.length === 0) return [];
  const added = await reader.post(`${table.path}?onSchemaError=${mode}`, cells.map((c) => ({ c })));
  if (added.status !== 201) throw new Error(added.text);
  const rows = await reader.rows(table.id);
  return rows.slice(-cells.length).map((row) => row['c'] as Json | undefined);
}

describe('what fits', () => {
  test.each(scalarKinds)('%s', async (kind) => {
    const { fit, misfit: no } = values[kind]!;
    const table = await createTable(client(), [], { c: kind });
    expect(await takenBy(client(), table, fit, 'abort')).toEqual(fit.map((value) => presented(value, kind)));
    const wrong = kind === 'json' ? no : [...no, ...composed];
    await leavingUnchanged(client(), table.path, async () => {
      for (const value of wrong) {
        const answer = await client().post(table.path, [{ c: value }]);
        expect([value, outcomeOf(answer)]).toEqual([value, misfit]);
      }
    });
    expect(await takenBy(client(), table, wrong, 'dropColumns')).toEqual(wrong.map(() => undefined));
  });

  test.each(scalarKinds)('an array of %s', async (kind) => {
    const { fit, misfit: no } = values[kind]!;
    const scalars = fit.filter((value) => value !== null);
    const arrays: Json[] = [[], scalars, ...scalars.slice(0, 3).map((value) => [value])];
    const table = await createTable(client(), [], { c: typeInSchema(arrayOf(kind)) });
    expect(await takenBy(client(), table, arrays, 'abort')).toEqual(arrays.map((value) => presented(value, arrayOf(kind))));
    const isArray = (value: Json): boolean => Array.isArray(value);
    const wrong: Json[] = [
      ...fit.filter((value) => !isArray(value)), ...no.map((value) => [scalars[0]!, value]), [null], [scalars[0]!, null],
      ...(kind === 'json' ? [] : [[[]], [{}], {}]),
    ];
    await leavingUnchanged(client(), table.path, async () => {
      for (const value of wrong.filter((each) => kind !== 'json' || !(isArray(each) && (each as Json[]).includes(null)))) {
        const answer = await client().post(table.path, [{ c: value }]);
        expect([value, outcomeOf(answer)]).toEqual([value, misfit]);
      }
    });
  });
});

/** Values by which a column of one type is told from one of another: what it takes under `dropColumns`. */
const probes: Json[] = [
  true, 1, '2020-01-01', '2020-01-01T00:00:00Z', 'a:b', 'text', '1:2', '12:30', '+123456', 'a@b', '😀', 'P1D', {},
  [true], [1], ['2020-01-01'], ['2020-01-01T00:00:00Z'], ['a:b'], ['text'], ['12:30'], ['+123456'], ['a@b'], ['😀'], ['P1D'], [{}],
];

async function signatureOf(reader: Client, table: MadeTable): Promise<string> {
  return JSON.stringify(await takenBy(reader, table, probes, 'dropColumns'));
}

/** The signatures of all types, from columns that were declared so. */
const signatures = new Map<string, string>();
async function signatureOfType(type: string): Promise<string> {
  let signature = signatures.get(type);
  if (signature === undefined) {
    signature = await signatureOf(client(), await createTable(client(), [], { c: typeInSchema(type) }));
    signatures.set(type, signature);
  }
  return signature;
}

describe('inference', () => {
  const day = '2024-01-01';
  const moment = '2024-01-01T10:00:00Z';
  test.each<[Json[], string]>([
    [[null], 'string'], [[true, false], 'boolean'], [[1, 2.5], 'number'], [[day], 'date'], [[moment], 'dateTime'], [['x'], 'string'],
    [[day, moment], 'dateTime'], [[moment, day, null], 'dateTime'], [[day, 'x'], 'string'], [['2023-02-29'], 'string'],
    [[1, true], 'string'], [[1, 'x'], 'string'], [[1, day], 'string'], [[null, 1, null], 'number'], [['1'], 'string'], [['12:30'], 'string'],
    [['https://example.com'], 'string'], [['a@b.c'], 'string'], [['😀'], 'string'], [['P1D'], 'string'],
    [[[]], 'array<string>'], [[[], [1]], 'array<string>'], [[[1], [2, 3]], 'array<number>'], [[[true]], 'array<boolean>'], [[[day]], 'array<date>'],
    [[[day], [moment]], 'array<dateTime>'], [[['x'], [1]], 'array<string>'], [[[1, 'x']], 'array<string>'], [[[1], 2], 'array<number>'],
    [[2, [1]], 'array<number>'], [['x', [1]], 'array<string>'], [[day, [moment]], 'array<dateTime>'], [[1, []], 'array<string>'],
    [[{}], 'json'], [[{ a: 1 }, 1], 'json'], [[1, { a: 1 }], 'json'], [[[1], {}], 'json'], [[[[1]]], 'json'], [[[null]], 'json'], [[[1, null], [1]], 'json'],
    [[[{}]], 'json'], [['x', [1], {}], 'json'], [[[[]]], 'json'],
  ])('of %j is %s', async (column, type) => {
    const naturals = column.map(naturalType).filter((natural) => natural !== null);
    expect(naturals.length === 0 ? 'string' : naturals.reduce(boundOf)).toBe(type);
    const table = await createTable(client(), column.map((c) => (c === null ? { c: null, other: 1 } : { c, other: 1 })));
    const read = (await client().rows(table.id)).map((row) => row['c']);
    expect(read).toEqual(column.map((value) => (value === null ? undefined : presented(value, type))));
    expect(await signatureOf(client(), table)).toBe(await signatureOfType(type));
  });

  test('columns stand in order of first appearance', async () => {
    const created = await client().post('/tables?name=n', '[{"b":null,"z":1},{"a":1,"b":2},{"c":3,"a":1}]');
    const page = await client().get(`/tables/${created.json.data.tableID}/rows`);
    expect(cellsOf(page.json.data)).toEqual([{ z: 1 }, { b: 2, a: 1 }, { a: 1, c: 3 }]);
    await client().post(`/tables/${created.json.data.tableID}/rows`, '[{"c":1,"a":2,"z":3,"b":4}]');
    expect((await client().get(`/tables/${created.json.data.tableID}/rows`)).text).toMatch(/"b":4,"z":3,"a":2,"c":1\b/);
  });
});

describe('updateSchema widens every type to its least upper bound', () => {
  const arrivals: Json[] = [
    true, 1.5, '2024-01-01', '2024-01-01T10:00:00Z', 'plain text', [true], [1.5], ['2024-01-01'], ['2024-01-01T10:00:00Z'], ['plain text'], [],
    { a: 1 }, [[1]], [null],
  ];

  test.each(allTypes)('%s', async (type) => {
    const item = itemOf(type);
    const sample = values[item ?? type]!.fit.find((value) => value !== '' && !(Array.isArray(value)) && typeof value !== 'object')!;
    const old: Json = item === null ? sample : [sample];
    const first = await createTable(client(), [], { c: typeInSchema(type) });
    const taken = await takenBy(client(), first, arrivals, 'dropColumns');
    const items = await createTable(client(), [], { c: typeInSchema(item ?? type) });
    const takenAsItem = await takenBy(client(), items, arrivals, 'dropColumns');
    const told = new Set<string>();
    for (const [at, value] of arrivals.entries()) {
      // Whether what is `json` by nature counts as a scalar of an array of it is not said.
      if (type === 'array<json>' && naturalType(value) === 'json') continue;
      const table = await createTable(client(), [{ c: old }], { c: typeInSchema(type) });
      const fitsAlready = taken[at] !== undefined;
      // Under `updateSchema` a scalar that fits the items is wrapped, without widening.
      const wraps = item !== null && typeof value !== 'object' && takenAsItem[at] !== undefined;
      const wider = fitsAlready || wraps ? type : boundOf(type, naturalType(value)!);
      const added = await client().post(`${table.path}?onSchemaError=updateSchema`, [{ c: value }]);
      expect([value, outcomeOf(added)]).toEqual([value, '201']);
      const read = (await client().rows(table.id)).map((row) => row['c']);
      expect([value, wider, read]).toEqual([value, wider, [presented(presented(old, type), wider), presented(value, wider)]]);
      if (told.has(wider)) continue;
      told.add(wider);
      expect([value, wider, await signatureOf(client(), table)]).toEqual([value, wider, await signatureOfType(wider)]);
    }
  });

  test('step by step: what was read once is widened from there', async () => {
    const table = await createTable(client(), [{ c: 1 }], { c: 'number' });
    const steps: [Json, Json[]][] = [
      [true, ['1', 'true']],
      [['x'], [['1'], ['true'], ['x']]],
      [5, [['1'], ['true'], ['x'], ['5']]],
      [{ k: 1 }, [['1'], ['true'], ['x'], ['5'], { k: 1 }]],
      [6, [['1'], ['true'], ['x'], ['5'], { k: 1 }, 6]],
    ];
    for (const [value, read] of steps) {
      await client().post(`${table.path}?onSchemaError=updateSchema`, [{ c: value }]);
      expect((await client().rows(table.id)).map((row) => row['c'])).toEqual(read);
    }
  });

  test('the same by patches, and in rows of large segments', async () => {
    const table = await createTable(client(), Array.from({ length: 300 }, (_, c) => ({ c, d: c })));
    const path = `${table.path}/${table.rowIds[7]}?onSchemaError=updateSchema`;
    await client().patch(path, { c: 'x' });
    const listed = await client().rows(table.id);
    expect(listed.map((row) => row['c'])).toEqual(Array.from({ length: 300 }, (_, c) => (c === 7 ? 'x' : String(c))));
    await client().patch(path, { c: ['y'], d: { k: 1 } });
    const [first] = await client().rows(table.id, 1);
    expect(first).toEqual({ c: ['0'], d: 0, $rowID: table.rowIds[0] });
    expect((await client().get(`${table.path}/${table.rowIds[7]}`)).json.data).toEqual({ c: ['y'], d: { k: 1 }, $rowID: table.rowIds[7] });
  });

  test('new columns are appended in order of appearance', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await client().post(`${table.path}?onSchemaError=updateSchema`, '[{"z":null,"y":1},{"x":"s","a":2,"z":true}]');
    await client().post(table.path, '[{"x":"t","a":3,"y":2,"z":false}]');
    expect((await client().get(table.path)).text).toMatch(/"a":3,"z":false,"y":2,"x":"t"/);
  });

  test('of a mismatch by abort nothing remains, not even a wider column', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await client().post(`${table.path}?onSchemaError=updateSchema`, '[{"a":"x","n":1},{"b":9007199254740993}]');
      expect(outcomeOf(answer)).toBe(misfit);
    });
    expect(outcomeOf(await client().post(table.path, [{ a: 'x' }]))).toBe(misfit);
    expect(outcomeOf(await client().post(table.path, [{ n: 1 }]))).toBe('422 column_id_not_found');
  });
});

describe('a number in a string column reads as its token as written', () => {
  const tokens = ['4.20', '1E+2', '-0', '0.10', '1e-7', '100', '9007199254740992', '0.30000000000000004', '-1.0'];
  test.each(['string', 'markdown'])('%s', async (kind) => {
    const table = await createTable(client(), [], { c: kind, l: typeInSchema(arrayOf(kind)) });
    await client().post(table.path, `[${tokens.map((token) => `{"c":${token},"l":[${token}]}`).join()}]`);
    expect(cellsOf(await client().rows(table.id))).toEqual(tokens.map((token) => ({ c: token, l: [token] })));
    await client().patch(`${table.path}/${(await client().rows(table.id, 1))[0]!['$rowID']}`, '{"c":5.50}');
    expect((await client().rows(table.id))[0]!['c']).toBe('5.50');
  });

  test('also when the column became one later, in small and in large writes', async () => {
    for (const count of [1, 300]) {
      const rows = Array.from({ length: count }, () => tokens.map((token) => `{"c":${token}}`)).flat();
      const created = await client().post('/tables?name=n', `[${rows.join()}]`);
      const path = `/tables/${created.json.data.tableID}/rows`;
      await client().patch(`${path}/${created.json.data.rowIDs[0]}`, '{"c":7.70}');
      await client().post(`${path}?onSchemaError=updateSchema`, '[{"c":"x"},{"c":8.80}]');
      const read = (await client().rows(created.json.data.tableID)).map((row) => row['c']);
      expect(read.slice(0, tokens.length)).toEqual(['7.70', ...tokens.slice(1)]);
      expect(read.slice(-2 - tokens.length)).toEqual([...(count === 1 ? ['7.70', ...tokens.slice(1)] : tokens), 'x', '8.80']);
    }
  });

  test('a patch to the same text in other digits is a change, to the same digits none', async () => {
    const table = await createTable(client(), [{ c: 'x' }]);
    const path = `${table.path}/${table.rowIds[0]}`;
    const first = await client().patch(path, '{"c":4.20}');
    expect((await client().patch(path, { c: '4.20' })).version).toBe(first.version);
    expect((await client().patch(path, '{"c":4.2}')).version! > first.version!).toBe(true);
  });
});

describe('dropColumns drops the offending cells and keeps the rest', () => {
  test.each<[object, object]>([
    [{ a: 'x', b: 'y' }, { b: 'y' }], [{ z: 1, a: 1 }, { a: 1 }], [{ z: null }, {}], [{ $stashID: 1, b: 'y' }, { b: 'y' }], [{ l: 5, b: 'y' }, { b: 'y' }],
    [{ l: [1, 'x'] }, {}], [{ a: 1, b: 2, l: [3] }, { a: 1, b: '2', l: [3] }],
  ])('%j', async (row, cells) => {
    const table = await createTable(client(), [], { a: 'number', b: 'string', l: typeInSchema('array<number>') });
    await client().post(`${table.path}?onSchemaError=dropColumns`, [row]);
    await client().post(`${table.path}?onSchemaError=dropColumns`, Array.from({ length: 200 }, () => row));
    expect(cellsOf(await client().rows(table.id))).toEqual(Array.from({ length: 201 }, () => cells));
  });

  test('for good: a later widening does not bring them back', async () => {
    const table = await createTable(client(), [], { a: 'number', b: 'number' });
    await client().post(`${table.path}?onSchemaError=dropColumns`, Array.from({ length: 150 }, () => ({ a: 'x', b: 1, z: 5 })));
    await client().post(`${table.path}?onSchemaError=updateSchema`, [{ a: 'y', z: 1 }]);
    const read = cellsOf(await client().rows(table.id));
    expect([read[0], read[149], read[150]]).toEqual([{ b: 1 }, { b: 1 }, { a: 'y', z: 1 }]);
  });
});

describe('abort names the first offending cell', () => {
  const types = { a: 'number', b: 'boolean' };
  test.each<[string, string, RegExp]>([
    ['[{"a":1},{"a":"x"},{"z":1}]', misfit, /rows\[1\].*a/],
    ['[{"a":1},{"z":1},{"a":"x"}]', '422 column_id_not_found', /rows\[1\].*z/],
    ['[{"b":1,"a":"x"}]', misfit, /rows\[0\].*b/],
    ['[{"a":"x","b":1}]', misfit, /rows\[0\].*a/],
    ['[{"a":"x","z":1}]', misfit, /rows\[0\].*a/],
    ['[{"z":1,"a":"x"}]', '422 column_id_not_found', /rows\[0\].*z/],
    ['[{"z":null}]', '422 column_id_not_found', /rows\[0\].*z/],
    ['[{"a":1},{"$stashID":1,"z":1}]', '422 column_id_reserved', /rows\[1\].*\$stashID/],
    ['[{"a":1},{"z":1,"$stashID":1}]', '422 column_id_not_found', /rows\[1\].*z/],
  ])('%s', async (body, outcome, place) => {
    const table = await createTable(client(), [], types);
    const answer = await client().post(table.path, body);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, expect.stringMatching(place)]);
    const create = await client().post('/tables', `{"name":"n","schema":{"columns":[{"id":"a","type":"number"},{"id":"b","type":"boolean"}]},"rows":${body}}`);
    expect([outcomeOf(create), create.json.error.message]).toEqual([outcome, expect.stringMatching(place)]);
  });
});

test('refusals are tried in order', async () => {
  const team = await api().createTeam();
  const table = await createTable(team.client, [{ a: 1 }], { a: 'number' });
  await team.setPlan(1);
  const stale = { 'if-match': '"1"' };
  const wide = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`c${n}`, 1]));
  const updating = `${table.path}?onSchemaError=updateSchema`;
  const outcomes = async (): Promise<string[]> => [
    outcomeOf(await team.client.post(`/tables/${unknownTableId}/rows`, [{ z: 1 }], { 'if-match': 'x' })),
    outcomeOf(await team.client.post(`/tables/${unknownTableId}/rows`, [{ z: 1 }], stale)),
    outcomeOf(await team.client.post(table.path, [{ z: 1 }], stale)),
    outcomeOf(await team.client.post(table.path, { $stashID: 'never-was' }, stale)),
    outcomeOf(await team.client.post(table.path, [{ z: 1 }])),
    outcomeOf(await team.client.post(updating, [{ ...wide, $stashID: 1 }])),
    outcomeOf(await team.client.post(updating, [wide])),
    outcomeOf(await team.client.post(table.path, [{ a: 2 }])),
  ];
  const table404 = '404 table_not_found';
  const rest = ['412 precondition_failed', '412 precondition_failed', '422 column_id_not_found', '422 column_id_reserved', '400 limit_exceeded', '402 payment_required'];
  expect(await outcomes()).toEqual([malformed, table404, ...rest]);
  await team.suspend();
  expect(await outcomes()).toEqual([malformed, table404, ...rest.map(() => '402 payment_required')]);
});
