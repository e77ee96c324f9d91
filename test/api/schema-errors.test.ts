/** Decisions 2 and 6: `onSchemaError`, the lattice, and the order of refusals. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import {
  allTypes,
  arrayTypeName,
  boundOf,
  itemOf,
  naturalType,
  presented,
  typeInSchema,
  type Json,
} from '../support/column-types.ts';
import { cellsOf, createTable, leavingUnchanged, unknownTableId } from '../support/tables.ts';
import { signatureOf, signatureOfType, takenBy, values } from '../support/type-samples.ts';

const { client, api } = useApi();
const misfit = '422 column_has_invalid_value';
const malformed = '400 request_validation_error';

describe('updateSchema widens every type to its least upper bound', () => {
  const arrivals: Json[] = [
    true,
    1.5,
    '2024-01-01',
    '2024-01-01T10:00:00Z',
    'plain text',
    [true],
    [1.5],
    ['2024-01-01'],
    ['2024-01-01T10:00:00Z'],
    ['plain text'],
    [],
    { a: 1 },
    [[1]],
    [null],
  ];

  test.each(allTypes)('updateSchema widens %s to the least upper bound with every type', async (type) => {
    const item = itemOf(type);
    const sample = values[item ?? type]!.fit.find(
      (value) => value !== '' && !Array.isArray(value) && typeof value !== 'object',
    )!;
    const old: Json = item === null ? sample : [sample];
    const first = await createTable(client(), [], { c: typeInSchema(type) });
    const taken = await takenBy(client(), first, arrivals, 'dropColumns');
    const items = await createTable(client(), [], { c: typeInSchema(item ?? type) });
    const takenAsItem = await takenBy(client(), items, arrivals, 'dropColumns');
    const told = new Set<string>();
    for (const [at, value] of arrivals.entries()) {
      // The specification does not say whether a value whose natural type is `json` counts as a scalar for an array of
      // `json`.
      if (type === 'array<json>' && naturalType(value) === 'json') continue;
      const table = await createTable(client(), [{ c: old }], { c: typeInSchema(type) });
      const fitsAlready = taken[at] !== undefined;
      // Under `updateSchema` a scalar that fits the items is wrapped, without widening.
      const wraps = item !== null && typeof value !== 'object' && takenAsItem[at] !== undefined;
      const wider = fitsAlready || wraps ? type : boundOf(type, naturalType(value)!);
      const added = await client().post(`${table.path}?onSchemaError=updateSchema`, [{ c: value }]);
      expect([value, outcomeOf(added)]).toEqual([value, '201']);
      const read = (await client().rows(table.id)).map((row) => row['c']);
      expect([value, wider, read]).toEqual([
        value,
        wider,
        [presented(presented(old, type), wider), presented(value, wider)],
      ]);
      if (told.has(wider)) continue;
      told.add(wider);
      expect([value, wider, await signatureOf(client(), table)]).toEqual([
        value,
        wider,
        await signatureOfType(client(), wider),
      ]);
    }
  });

  test('types are widened step by step, each time from the present type', async () => {
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

  test('types are widened by patches, and in rows of large segments', async () => {
    const table = await createTable(
      client(),
      Array.from({ length: 300 }, (_, c) => ({ c, d: c })),
    );
    const path = `${table.path}/${table.rowIds[7]}?onSchemaError=updateSchema`;
    await client().patch(path, { c: 'x' });
    const listed = await client().rows(table.id);
    expect(listed.map((row) => row['c'])).toEqual(Array.from({ length: 300 }, (_, c) => (c === 7 ? 'x' : String(c))));
    await client().patch(path, { c: ['y'], d: { k: 1 } });
    const [first] = await client().rows(table.id, 1);
    expect(first).toEqual({ c: ['0'], d: 0, $rowID: table.rowIds[0] });
    expect((await client().get(`${table.path}/${table.rowIds[7]}`)).json.data).toEqual({
      c: ['y'],
      d: { k: 1 },
      $rowID: table.rowIds[7],
    });
  });

  test('new columns are appended in order of appearance', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await client().post(`${table.path}?onSchemaError=updateSchema`, '[{"z":null,"y":1},{"x":"s","a":2,"z":true}]');
    await client().post(table.path, '[{"x":"t","a":3,"y":2,"z":false}]');
    expect((await client().get(table.path)).text).toMatch(/"a":3,"z":false,"y":2,"x":"t"/);
  });

  test('a mismatch under abort changes nothing, not even the type of a column', async () => {
    const table = await createTable(client(), [{ a: 1 }]);
    await leavingUnchanged(client(), table.path, async () => {
      const answer = await client().post(
        `${table.path}?onSchemaError=updateSchema`,
        '[{"a":"x","n":1},{"$stashID":1}]',
      );
      expect(outcomeOf(answer)).toBe('422 column_id_reserved');
    });
    expect(outcomeOf(await client().post(table.path, [{ a: 'x' }]))).toBe(misfit);
    expect(outcomeOf(await client().post(table.path, [{ n: 1 }]))).toBe('422 column_id_not_found');
  });
});

describe('a number in a string column reads as its token as written', () => {
  const tokens = ['4.20', '1E+2', '-0', '0.10', '1e-7', '100', '9007199254740992', '0.30000000000000004', '-1.0'];
  test.each(['string', 'markdown'])('a number reads as its token in a column of the type %s', async (kind) => {
    const table = await createTable(client(), [], { c: kind, l: typeInSchema(arrayTypeName(kind)) });
    await client().post(table.path, `[${tokens.map((token) => `{"c":${token},"l":[${token}]}`).join()}]`);
    expect(cellsOf(await client().rows(table.id))).toEqual(tokens.map((token) => ({ c: token, l: [token] })));
    await client().patch(`${table.path}/${String((await client().rows(table.id, 1))[0]!['$rowID'])}`, '{"c":5.50}');
    expect((await client().rows(table.id))[0]!['c']).toBe('5.50');
  });

  test('a number reads as its token when its column became text later, in small and in large writes', async () => {
    for (const count of [1, 300]) {
      const rows = Array.from({ length: count }, () => tokens.map((token) => `{"c":${token}}`)).flat();
      const created = await client().post('/tables?name=n', `[${rows.join()}]`);
      const path = `/tables/${created.json.data.tableID}/rows`;
      await client().patch(`${path}/${created.json.data.rowIDs[0]}`, '{"c":7.70}');
      await client().post(`${path}?onSchemaError=updateSchema`, '[{"c":"x"},{"c":8.80}]');
      const read = (await client().rows(created.json.data.tableID)).map((row) => row['c']);
      expect(read.slice(0, tokens.length)).toEqual(['7.70', ...tokens.slice(1)]);
      expect(read.slice(-2 - tokens.length)).toEqual([
        ...(count === 1 ? ['7.70', ...tokens.slice(1)] : tokens),
        'x',
        '8.80',
      ]);
    }
  });

  test('a patch to the same number with other digits is a change, and with the same digits it is none', async () => {
    const table = await createTable(client(), [{ c: 'x' }]);
    const path = `${table.path}/${table.rowIds[0]}`;
    const first = await client().patch(path, '{"c":4.20}');
    expect((await client().patch(path, { c: '4.20' })).version).toBe(first.version);
    expect((await client().patch(path, '{"c":4.2}')).version! > first.version!).toBe(true);
  });
});

describe('dropColumns drops the offending cells and keeps the rest', () => {
  test.each<[object, object]>([
    [{ a: 'x', b: 'y' }, { b: 'y' }],
    [{ z: 1, a: 1 }, { a: 1 }],
    [{ z: null }, {}],
    [{ $stashID: 1, b: 'y' }, { b: 'y' }],
    [{ l: 5, b: 'y' }, { b: 'y' }],
    [{ l: [1, 'x'] }, {}],
    [
      { a: 1, b: 2, l: [3] },
      { a: 1, b: '2', l: [3] },
    ],
  ])('dropColumns drops the offending cells of %j', async (row, cells) => {
    const table = await createTable(client(), [], { a: 'number', b: 'string', l: typeInSchema('array<number>') });
    await client().post(`${table.path}?onSchemaError=dropColumns`, [row]);
    await client().post(
      `${table.path}?onSchemaError=dropColumns`,
      Array.from({ length: 200 }, () => row),
    );
    expect(cellsOf(await client().rows(table.id))).toEqual(Array.from({ length: 201 }, () => cells));
  });

  test('a later widening does not bring the dropped cells back', async () => {
    const table = await createTable(client(), [], { a: 'number', b: 'number' });
    await client().post(
      `${table.path}?onSchemaError=dropColumns`,
      Array.from({ length: 150 }, () => ({ a: 'x', b: 1, z: 5 })),
    );
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
  ])('abort names the first offending cell of %s', async (body, outcome, place) => {
    const table = await createTable(client(), [], types);
    const answer = await client().post(table.path, body);
    expect([outcomeOf(answer), answer.json.error.message]).toEqual([outcome, expect.stringMatching(place)]);
    const create = await client().post(
      '/tables',
      `{"name":"n","schema":{"columns":[{"id":"a","type":"number"},{"id":"b","type":"boolean"}]},"rows":${body}}`,
    );
    expect([outcomeOf(create), create.json.error.message]).toEqual([outcome, expect.stringMatching(place)]);
  });
});

test('refusals are checked in order', async () => {
  const team = await api().createTeam();
  const table = await createTable(team.client, [{ a: 1 }], { a: 'number' });
  await team.setPlan({ rowsMax: 1 });
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
  const rest = [
    '412 precondition_failed',
    '412 precondition_failed',
    '422 column_id_not_found',
    '422 column_id_reserved',
    '400 limit_exceeded',
    '402 payment_required',
  ];
  expect(await outcomes()).toEqual([malformed, table404, ...rest]);
  await team.suspend();
  expect(await outcomes()).toEqual([malformed, table404, ...rest.map(() => '402 payment_required')]);
});
