/** What the grid's filters and sorts ask of the service (console/src/grid/filters.ts). */
import { expect, test } from '@jest/globals';
import { TablogError } from '../../../../clients/typescript/src/index.ts';
import {
  describeInexact,
  describeMisfit,
  filterOptionsOf,
  isSortable,
  viewOf,
  type ColumnFilter,
} from '../../../../console/src/grid/filters.ts';
import { columnTypes, textOfType, typeOfText, type Column } from '../../../../console/src/tables/column-types.ts';

const columns: readonly Column[] = [
  { id: 'name', type: 'string' },
  { id: 'n', type: 'number' },
  { id: 'ok', type: 'boolean' },
  { id: 'tags', type: { kind: 'array', items: { kind: 'number' } } },
  { id: 'any', type: 'json' },
];

test.each<[filters: Record<string, ColumnFilter>, filter: unknown]>([
  [{}, undefined],
  [{ gone: { type: 'eq', filter: 'x' } }, undefined],
  [{ name: { type: 'contains', filter: 'a' } }, { column: 'name', op: 'contains', value: 'a', ignoreCase: true }],
  [
    { name: { type: 'notContains', filter: 'a' } },
    { not: { column: 'name', op: 'contains', value: 'a', ignoreCase: true } },
  ],
  [{ name: { type: 'eq', filter: '1' } }, { column: 'name', op: 'eq', value: '1' }],
  [{ name: { type: 'isEmpty' } }, { column: 'name', op: 'isEmpty' }],
  [{ n: { type: 'gte', filter: '1e3' } }, { column: 'n', op: 'gte', value: 1000 }],
  [{ n: { type: 'eq', filter: '1 000_000' } }, { column: 'n', op: 'eq', value: 1_000_000 }],
  // The service says that it is no number.
  [{ n: { type: 'eq', filter: 'many' } }, { column: 'n', op: 'eq', value: 'many' }],
  [{ ok: { type: 'isFalse' } }, { column: 'ok', op: 'eq', value: false }],
  [{ tags: { type: 'has', filter: '7' } }, { column: 'tags', op: 'has', value: 7 }],
  [{ any: { type: 'eq', filter: '{"a":[1]}' } }, { column: 'any', op: 'eq', value: { a: [1] } }],
  [
    {
      n: { operator: 'OR', conditions: [{ type: 'lt', filter: '1' }, { type: 'isEmpty' }] },
      name: { type: 'endsWith', filter: 'z' },
    },
    {
      and: [
        {
          or: [
            { column: 'n', op: 'lt', value: 1 },
            { column: 'n', op: 'isEmpty' },
          ],
        },
        { column: 'name', op: 'endsWith', value: 'z', ignoreCase: true },
      ],
    },
  ],
])("the grid's filters %j become a filter of the interface", (filters, filter) => {
  expect(viewOf(columns, filters, [])).toEqual(filter === undefined ? {} : { filter });
});

test.each<[filters: Record<string, ColumnFilter>, problem: string | null]>([
  [
    { n: { type: 'eq', filter: '9007199254740993' } },
    'n needs a number. 9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992.',
  ],
  [
    {
      n: {
        operator: 'OR',
        conditions: [
          { type: 'lt', filter: '1' },
          { type: 'gt', filter: '1,5' },
        ],
      },
    },
    'n needs a number. 1,5 is not a number. Use a decimal point, and no commas.',
  ],
  [
    { tags: { type: 'has', filter: '9007199254740993' } },
    'tags needs a number. 9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992.',
  ],
  [
    { any: { type: 'eq', filter: '[9007199254740993]' } },
    'any needs JSON, such as {"a":1} or "text". 9007199254740993 cannot be stored exactly as a number: it would become 9007199254740992.',
  ],
  [{ name: { type: 'eq', filter: '9007199254740993' }, n: { type: 'isEmpty' } }, null],
  // The service says that it is no number.
  [{ n: { type: 'eq', filter: 'many' }, any: { type: 'eq', filter: '{a' } }, null],
])('%j is refused as %j', (filters, problem) => {
  expect(describeInexact(columns, filters)).toBe(problem);
  if (problem !== null) expect(JSON.stringify(viewOf(columns, filters, []))).not.toContain('9007199254740992');
});

test.each<[message: string, text: string | null]>([
  ['filter.value: it does not fit the column\'s type number (column "n")', 'n needs a number.'],
  [
    'filter.and[1].or[0].value: it does not fit the column\'s type array<number> (column "tags")',
    'tags needs a number.',
  ],
  [
    'filter.value: it does not fit the column\'s type dateTime (column "a \\"b\\" (column \\"n\\")")',
    'When needs a date with a time, such as 2024-03-01T10:30:00Z.',
  ],
  ['filter.value: it does not fit (column "gone")', null],
  ['rows[0].n: "x" does not fit the column\'s type number', null],
])("the service's refusal is told in words of the grid: %s", (message, text) => {
  const titled: Column = { id: 'a "b" (column "n")', displayName: 'When', type: 'dateTime' };
  expect(describeMisfit(new TablogError(422, 'column_has_invalid_value', message), [...columns, titled])).toBe(text);
  expect(describeMisfit(new TablogError(404, 'table_not_found', message), columns)).toBeNull();
});

test('sorts are sent in the order in which they were chosen', () => {
  expect(
    viewOf(columns, {}, [
      { colId: 'n', sort: 'desc' },
      { colId: 'name', sort: 'asc' },
    ]),
  ).toEqual({ sort: ['-n', 'name'] });
  const columns5 = [{ id: '-5', type: 'number' as const }];
  expect(['asc', 'desc'].map((sort) => viewOf(columns5, {}, [{ colId: '-5', sort }]).sort)).toEqual([
    [{ column: '-5', descending: false }],
    [{ column: '-5', descending: true }],
  ]);
});

test('every type has filters, and their names identify them', () => {
  for (const text of columnTypes) {
    const options = filterOptionsOf(text).map((option) => (typeof option === 'string' ? option : option.displayKey));
    expect(options.slice(-2)).toEqual(['isEmpty', 'isNotEmpty']);
    expect(options.includes('lt')).toBe(['number', 'date', 'time', 'dateTime'].includes(text));
    expect(options.includes('has')).toBe(text.startsWith('array<'));
    expect(textOfType(typeOfText(text))).toBe(text);
  }
  expect(columnTypes.filter((text) => !isSortable(text)).every((text) => /^array|^json$|^duration$/.test(text))).toBe(
    true,
  );
});
