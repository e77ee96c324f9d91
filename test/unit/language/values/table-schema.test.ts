import { describe, expect, test } from '@jest/globals';
import {
  columnPlaces,
  currentType,
  decodeSchema,
  encodeSchema,
  findColumn,
  schemaOf,
  typeAt,
} from '../../../../src/language/values/table-schema.ts';
import type { TableSchema } from '../../../../src/language/values/table-schema.ts';

const schema: TableSchema = {
  columns: [
    {
      id: '__proto__',
      displayName: 'P',
      types: [
        { since: 5n, type: 'date' },
        { since: 2n ** 60n, type: 'string' },
      ],
    },
    { id: '10', types: [{ since: 7n, type: 'array<number>' }] },
  ],
};
const [first, second] = schema.columns;

describe('a table schema', () => {
  test.each([
    [first, 4n, undefined],
    [first, 5n, 'date'],
    [first, 2n ** 60n - 1n, 'date'],
    [first, 2n ** 60n, 'string'],
    [second, 6n, undefined],
    [second, 99n, 'array<number>'],
  ] as const)('knows the type of %j at %s', (column, version, type) => expect(typeAt(column!, version)).toBe(type));

  test('lists its present columns', () => {
    expect(schema.columns.map(currentType)).toEqual(['string', 'array<number>']);
    expect([...columnPlaces(schema)]).toEqual([
      ['__proto__', 0],
      ['10', 1],
    ]);
    expect(findColumn(schema, '10')).toBe(second);
    expect(findColumn(schema, 'constructor')).toBeUndefined();
  });

  test('comes back equal from its JSON', () => {
    expect(decodeSchema(JSON.parse(JSON.stringify(encodeSchema(schema))))).toEqual(schema);
  });

  test('begins with the columns that a client gives', () => {
    const given = [
      { id: 'a', displayName: 'A', type: 'date' },
      { id: 'b', displayName: undefined, type: 'json' },
    ] as const;
    expect(schemaOf(given, 3n)).toStrictEqual({
      columns: [
        { id: 'a', displayName: 'A', types: [{ since: 3n, type: 'date' }] },
        { id: 'b', types: [{ since: 3n, type: 'json' }] },
      ],
    });
  });
});
