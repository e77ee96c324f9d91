import { expect, test } from '@jest/globals';
import { describeRowTypes, type ColumnType, type TypedTable } from '../../../../clients/typescript/src/index.ts';

const table = (name: string, columns: Readonly<Record<string, ColumnType>>): TypedTable => {
  return { id: 'an ID', name, schema: { columns: Object.entries(columns).map(([id, type]) => ({ id, type })) } };
};

test('rows are interfaces whose columns may be empty', () => {
  expect(
    describeRowTypes([
      table('my cars', {
        'name': 'string',
        'horsepower': 'number',
        'electric': 'boolean',
        'photo': 'imageURI',
        'built': 'date',
        'more': 'json',
        'tags': { kind: 'array', items: { kind: 'string' } },
        'axes': { kind: 'array', items: { kind: 'number' } },
        'top speed': 'number',
        'a"b': 'string',
        '1st': 'string',
      }),
    ]),
  ).toBe(`/** A row of the table "my cars" (an ID). */
export interface MyCars {
  name?: string;
  horsepower?: number;
  electric?: boolean;
  photo?: string;
  built?: string;
  more?: unknown;
  tags?: string[];
  axes?: number[];
  "top speed"?: number;
  "a\\"b"?: string;
  "1st"?: string;
}
`);
});

test.each([
  [
    ['cars', 'cars', 'Cars'],
    ['Cars', 'Cars2', 'Cars3'],
  ],
  [['2024 sales'], ['Table2024Sales']],
  [
    ['🙂', ''],
    ['Table', 'Table2'],
  ],
  [['Größe: m²'], ['GrößeM2']],
  [['*/ evil(); /*'], ['Evil']],
])('the tables %j have the types %j', (names, types) => {
  const text = describeRowTypes(names.map((name) => table(name, {})));
  expect([...text.matchAll(/^export interface (\S+) \{$/gm)].map(([, name]) => name)).toEqual(types);
  // Whatever the names are, comments end where they are to.
  expect(text.replaceAll(/^\/\*\* .* \*\/\nexport interface \S+ \{\n\}\n\n?/gm, '')).toBe('');
  expect(text.match(/\*\//g)).toHaveLength(names.length);
});
