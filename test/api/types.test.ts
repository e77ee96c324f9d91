/** Decisions 2 and 6: which values fit which types, and inference. */
import { describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { outcomeOf } from '../support/client.ts';
import {
  arrayTypeName,
  boundOf,
  naturalType,
  presented,
  scalarKinds,
  typeInSchema,
  type Json,
} from '../support/column-types.ts';
import { cellsOf, createTable, leavingUnchanged } from '../support/tables.ts';
import { signatureOf, signatureOfType, takenBy, values } from '../support/type-samples.ts';

const { client } = useApi();
const misfit = '422 column_has_invalid_value';

const composed: Json[] = [[], ['x'], [1], [null], [[1]], {}, { a: 1 }];

describe('values that fit a type', () => {
  test.each(scalarKinds)('a column of the type %s accepts values that fit, and refuses others', async (kind) => {
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

  test.each(scalarKinds)('an array of %s accepts values that fit, and refuses others', async (kind) => {
    const { fit, misfit: no } = values[kind]!;
    const scalars = fit.filter((value) => value !== null);
    const arrays: Json[] = [[], scalars, ...scalars.slice(0, 3).map((value) => [value])];
    const table = await createTable(client(), [], { c: typeInSchema(arrayTypeName(kind)) });
    expect(await takenBy(client(), table, arrays, 'abort')).toEqual(
      arrays.map((value) => presented(value, arrayTypeName(kind))),
    );
    const isArray = (value: Json): boolean => Array.isArray(value);
    const wrong: Json[] = [
      ...fit.filter((value) => !isArray(value)),
      ...no.map((value) => [scalars[0]!, value]),
      [null],
      [scalars[0]!, null],
      ...(kind === 'json' ? [] : [[[]], [{}], {}]),
    ];
    await leavingUnchanged(client(), table.path, async () => {
      for (const value of wrong.filter(
        (each) => kind !== 'json' || !(isArray(each) && (each as Json[]).includes(null)),
      )) {
        const answer = await client().post(table.path, [{ c: value }]);
        expect([value, outcomeOf(answer)]).toEqual([value, misfit]);
      }
    });
  });
});

describe('inference', () => {
  const day = '2024-01-01';
  const moment = '2024-01-01T10:00:00Z';
  test.each<[Json[], string]>([
    [[null], 'string'],
    [[true, false], 'boolean'],
    [[1, 2.5], 'number'],
    [[day], 'date'],
    [[moment], 'dateTime'],
    [['x'], 'string'],
    [[day, moment], 'dateTime'],
    [[moment, day, null], 'dateTime'],
    [[day, 'x'], 'string'],
    [['2023-02-29'], 'string'],
    [[1, true], 'string'],
    [[1, 'x'], 'string'],
    [[1, day], 'string'],
    [[null, 1, null], 'number'],
    [['1'], 'string'],
    [['12:30'], 'string'],
    [['https://example.com'], 'string'],
    [['a@b.c'], 'string'],
    [['😀'], 'string'],
    [['P1D'], 'string'],
    [[[]], 'array<string>'],
    [[[], [1]], 'array<string>'],
    [[[1], [2, 3]], 'array<number>'],
    [[[true]], 'array<boolean>'],
    [[[day]], 'array<date>'],
    [[[day], [moment]], 'array<dateTime>'],
    [[['x'], [1]], 'array<string>'],
    [[[1, 'x']], 'array<string>'],
    [[[1], 2], 'array<number>'],
    [[2, [1]], 'array<number>'],
    [['x', [1]], 'array<string>'],
    [[day, [moment]], 'array<dateTime>'],
    [[1, []], 'array<string>'],
    [[{}], 'json'],
    [[{ a: 1 }, 1], 'json'],
    [[1, { a: 1 }], 'json'],
    [[[1], {}], 'json'],
    [[[[1]]], 'json'],
    [[[null]], 'json'],
    [[[1, null], [1]], 'json'],
    [[[{}]], 'json'],
    [['x', [1], {}], 'json'],
    [[[[]]], 'json'],
  ])('the natural type of %j is %s', async (column, type) => {
    const naturals = column.map(naturalType).filter((natural) => natural !== null);
    expect(naturals.length === 0 ? 'string' : naturals.reduce(boundOf)).toBe(type);
    const table = await createTable(
      client(),
      column.map((c) => (c === null ? { c: null, other: 1 } : { c, other: 1 })),
    );
    const read = (await client().rows(table.id)).map((row) => row['c']);
    expect(read).toEqual(column.map((value) => (value === null ? undefined : presented(value, type))));
    expect(await signatureOf(client(), table)).toBe(await signatureOfType(client(), type));
  });

  test('columns are in the order of their first appearance', async () => {
    const created = await client().post('/tables?name=n', '[{"b":null,"z":1},{"a":1,"b":2},{"c":3,"a":1}]');
    const page = await client().get(`/tables/${created.json.data.tableID}/rows`);
    expect(cellsOf(page.json.data)).toEqual([{ z: 1 }, { b: 2, a: 1 }, { a: 1, c: 3 }]);
    await client().post(`/tables/${created.json.data.tableID}/rows`, '[{"c":1,"a":2,"z":3,"b":4}]');
    expect((await client().get(`/tables/${created.json.data.tableID}/rows`)).text).toMatch(/"b":4,"z":3,"a":2,"c":1\b/);
  });
});
