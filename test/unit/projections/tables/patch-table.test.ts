/** Patching a table of version 50, at version 100: its name, and the names its columns are shown under. */
import { expect, test } from '@jest/globals';

import { blockRow, given, here, tailRow, when } from '../../../support/decisions.ts';
import { add, few, patch, patchTable } from '../../../support/requests.ts';
import { columnsFrom } from '../../../support/schema-text.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { LogPlace } from '../../../../src/log/batch/decision.ts';
import type { Given } from '../../../support/decisions.ts';
import type { AskedPatch } from '../../../support/requests.ts';

test.each<readonly [name: string, state: Given, asked: AskedPatch, outcome: string]>([
  ['another name', {}, { name: 'New' }, 'ok 100 | table 0 named New'],
  ['the same name moves nothing', {}, { name: 'Table' }, 'ok 50'],
  ['nothing at all moves nothing', {}, {}, 'ok 50'],
  [
    'a display name',
    {},
    { columns: [['a', 'Alpha']] },
    'ok 100 | table 0 new schema | schema a:number(Alpha) b:string',
  ],
  [
    'a name and display names',
    { tail: ['{"a":1}'] },
    {
      name: 'New',
      columns: [
        ['b', 'Beta'],
        ['a', 'Alpha'],
      ],
    },
    'ok 100 | table 1 new schema named New open | schema a:number(Alpha) b:string(Beta)',
  ],
  ['a display name that is not there is taken away', {}, { columns: [['a', null]] }, 'ok 50'],
  [
    'one that is the column ID is one',
    {},
    { columns: [['a', 'a']] },
    'ok 100 | table 0 new schema | schema a:number(a) b:string',
  ],
  ['a version that is right', {}, { ifMatch: 50n, name: 'New' }, 'ok 100 | table 0 named New'],
  [
    'a version before',
    {},
    { ifMatch: 49n, name: 'New' },
    'precondition_failed: the table has changed: its version is 50, not 49 or older',
  ],
  [
    'a version before, and nothing to be done',
    {},
    { ifMatch: 49n },
    'precondition_failed: the table has changed: its version is 50, not 49 or older',
  ],
  [
    'an unknown column',
    {},
    {
      name: 'New',
      columns: [
        ['a', 'x'],
        ['c', null],
      ],
    },
    'column_id_not_found: columns[1].id: the table has no column "c"',
  ],
  [
    'a reserved column',
    {},
    { columns: [['$rowID', 'x']] },
    'column_id_not_found: columns[0].id: the table has no column "$rowID"',
  ],
  [
    'a column twice',
    {},
    {
      columns: [
        ['a', 'x'],
        ['a', 'x'],
      ],
    },
    'column_id_not_unique: columns[1].id: the column ID "a" occurs twice',
  ],
  [
    'the version comes before the columns',
    {},
    { ifMatch: 1n, columns: [['c', 'x']] },
    'precondition_failed: the table has changed: its version is 50, not 1 or older',
  ],
  ['a suspended team', { suspended: true }, { ifMatch: 1n }, 'payment_required: the team is suspended'],
  [
    "another team's table",
    { owner: 'another', suspended: true },
    { name: 'New' },
    'table_not_found: there is no such table',
  ],
  ['no table', { owner: 'nobody' }, {}, 'table_not_found: there is no such table'],
])('a table is renamed or linked: %s', (_name, state, asked, outcome) =>
  expect(shown(when(given(state), patchTable(asked)))).toBe(outcome),
);

test('display names are set and removed, and each change raises the version', () => {
  const state = given();
  const next = { ...here, version: 101n };
  const last = { ...here, version: 102n };
  when(
    state,
    patchTable({
      columns: [
        ['a', 'Alpha'],
        ['b', 'Beta'],
      ],
    }),
  );
  expect(
    shown(
      when(
        state,
        patchTable({
          columns: [
            ['a', 'Alpha'],
            ['b', null],
          ],
        }),
        next,
      ),
      next,
    ),
  ).toBe('ok 101 | table 0 new schema | schema a:number(Alpha) b:string');
  expect(
    shown(
      when(
        state,
        patchTable({
          columns: [
            ['a', 'Alpha'],
            ['b', null],
          ],
        }),
        last,
      ),
      last,
    ),
  ).toBe('ok 101');
});

test('rows read as before: existing rows are not converted, and new rows begin a tail of their own', () => {
  const state = given({ tail: ['{"a":1}'] });
  when(state, patchTable({ columns: [['a', 'Alpha']] }));
  const next = { ...here, version: 101n };
  expect(shown(when(state, add(few('{"a":2}')), next), next)).toBe(
    'ok 101 | table 2 open | extent 101 1 by 100 plain | rows 101[0] {"a":2} | team 2',
  );
  const last = { ...here, version: 102n };
  expect(shown(when(state, patch(tailRow(0), '{"b":"x"}'), last), last)).toBe(
    'ok 102 | table 2 open | extent 30 1 by 10 plain changed | row 30[0] {"a":1,"b":"x"}',
  );
});

const changed = 'ok 100 | table 0 new schema';
const misfitsOfB = [{ id: 'b', cells: 2, rowId: 'AAAA', value: '"x"' }];

test.each<readonly [name: string, changes: NonNullable<AskedPatch['changes']>, outcome: string]>([
  ['nothing', {}, 'ok 50'],
  ['a new column', { add: columnsFrom('c:date') }, `${changed} | schema a:number b:string c:date`],
  [
    'a new column in the first place: copies of the table take its order',
    { add: columnsFrom('c:date'), order: ['c'] },
    `${changed} widened | schema c:date a:number b:string`,
  ],
  ['a column that goes', { remove: ['a'] }, `${changed} widened | schema b:string`],
  ['all columns that go', { remove: ['b', 'a'] }, `${changed} widened | schema`],
  [
    'a column that goes, and comes again as another one',
    { remove: ['a'], add: columnsFrom('a:date') },
    `${changed} widened | schema b:string a:date`,
  ],
  ['another order', { order: ['b'] }, `${changed} widened | schema b:string a:number`],
  ['the same order', { order: ['a', 'b'] }, 'ok 50'],
  ['a wider type', { change: [{ id: 'a', type: 'string' }] }, `${changed} widened | schema a:string b:string`],
  [
    'a wider type and a name',
    { change: [{ id: 'a', displayName: 'A', type: 'json' }] },
    `${changed} widened | schema a:json(A) b:string`,
  ],
  [
    'markdown takes all texts',
    { change: [{ id: 'b', type: 'markdown' }] },
    `${changed} widened | schema a:number b:markdown`,
  ],
  ['the same type', { change: [{ id: 'a', type: 'number' }] }, 'ok 50'],
  ['only a name', { change: [{ id: 'a', displayName: 'A' }] }, `${changed} | schema a:number(A) b:string`],
  [
    'all at once: columns go, others change, others come, and then they are in another order',
    {
      remove: ['a'],
      change: [{ id: 'b', type: 'json' }],
      add: columnsFrom('a:number c:date'),
      order: ['c', 'a'],
    },
    `${changed} widened | schema c:date a:number b:json`,
  ],
  [
    'an unknown column that goes',
    { remove: ['a', 'c'] },
    'column_id_not_found: remove[1]: the table has no column "c"',
  ],
  [
    'a column that goes twice',
    { remove: ['a', 'a'] },
    'column_id_not_unique: remove[1]: the column ID "a" occurs twice',
  ],
  [
    'a column that goes and changes',
    { remove: ['a'], change: [{ id: 'a', type: 'string' }] },
    'column_id_not_found: columns[0].id: the table has no column "a"',
  ],
  [
    'a column that changes twice',
    {
      change: [
        { id: 'a', type: 'string' },
        { id: 'a', displayName: 'A' },
      ],
    },
    'column_id_not_unique: columns[1].id: the column ID "a" occurs twice',
  ],
  [
    'a new column that is there',
    { add: columnsFrom('c:date a:number') },
    'column_id_not_unique: add[1].id: the table has a column "a" already',
  ],
  [
    'a new column twice',
    { add: columnsFrom('c:date c:date') },
    'column_id_not_unique: add[1].id: the column ID "c" occurs twice',
  ],
  [
    'a new column with a reserved ID',
    { add: columnsFrom('$rowID:string') },
    'column_id_reserved: add[0].id: the column ID "$rowID" is reserved',
  ],
  ['an unknown column in the order', { order: ['c'] }, 'column_id_not_found: order[0]: the table has no column "c"'],
  [
    'a column in the order that goes',
    { remove: ['a'], order: ['a'] },
    'column_id_not_found: order[0]: the table has no column "a"',
  ],
  [
    'a column in the order twice',
    { order: ['b', 'b'] },
    'column_id_not_unique: order[1]: the column ID "b" occurs twice',
  ],
  [
    'too many columns',
    { add: columnsFrom('c:date'), columnsMax: 2 },
    'limit_exceeded: the table would have 3 columns; at most 2 are allowed',
  ],
  [
    'as many columns as there may be, because one goes',
    { remove: ['a'], add: columnsFrom('c:date'), columnsMax: 2 },
    `${changed} widened | schema b:string c:date`,
  ],
  ['a type that was not tried', { change: [{ id: 'b', type: 'number' }] }, 'ok 50'],
  [
    'a type that was tried at another version',
    { change: [{ id: 'b', type: 'number' }], tried: { version: 49n, misfits: [] } },
    'ok 50',
  ],
  [
    'a type that all cells fit',
    { change: [{ id: 'b', type: 'number' }], tried: { version: 50n, misfits: [] } },
    `${changed} widened | schema a:number b:number`,
  ],
  [
    'a type that some cells do not fit',
    {
      change: [
        { id: 'a', type: 'string' },
        { id: 'b', type: 'number' },
      ],
      tried: { version: 50n, misfits: misfitsOfB },
    },
    'column_has_invalid_value: columns[1].type: 2 cells do not fit the type number: the first is "x", in the row AAAA',
  ],
  [
    'a type that empties the cells that do not fit',
    { change: [{ id: 'b', type: 'number' }], onMisfit: 'clear', tried: { version: 50n, misfits: misfitsOfB } },
    `${changed} widened | schema a:number b:number`,
  ],
])('columns are changed: %s', (_name, changes, outcome) =>
  expect(shown(when(given(), patchTable({ changes })))).toBe(outcome),
);

test('a change of types lists the cleared cells, or reports that the rows were not tried', () => {
  const change = [{ id: 'b', type: 'number' }] as const;
  const resultOf = (changes: NonNullable<AskedPatch['changes']>): unknown => {
    const { outcome } = when(given(), patchTable({ changes }));
    return outcome.status === 'applied' ? outcome.result : outcome.refusal;
  };
  const tried = { version: 50n, misfits: misfitsOfB };
  expect(resultOf({ change, onMisfit: 'clear', tried })).toEqual({ misfits: misfitsOfB });
  expect(resultOf({ change, tried: { version: 50n, misfits: [] } })).toEqual({ misfits: [] });
  expect(resultOf({ change })).toEqual({ untried: true });
  expect(resultOf({ change: [{ id: 'a', type: 'string' }] })).toEqual({});
});

test('a column has at most a hundred types', () => {
  const types = Array.from({ length: 100 }, (_, at) => `${at + 10}:${at % 2 === 0 ? 'number' : 'string'}`).join('<');
  const state = given({ schema: `a:${types}` });
  expect(shown(when(state, patchTable({ changes: { change: [{ id: 'a', type: 'json' }] } })))).toBe(
    'limit_exceeded: columns[0].type: the column "a" has had 100 types, and can have no other one',
  );
});

test('a patch reads a row without removed columns, and a column that was added again is empty', () => {
  const state = given({ block: ['{"a":1,"b":"x"}'], tail: ['{"a":2,"b":"y"}'] });
  const at = (version: bigint): LogPlace => ({ ...here, version });
  when(state, patchTable({ changes: { remove: ['b'] } }));
  expect(shown(when(state, patch(blockRow(0), '{"b":"z"}'), at(101n)), at(101n))).toBe(
    'column_id_not_found: b: the table has no column "b"',
  );
  when(state, patchTable({ changes: { add: columnsFrom('b:string') } }), at(102n));
  expect(shown(when(state, patch(blockRow(0), '{"a":3}'), at(103n)), at(103n))).toContain('row 20[0] {"a":3}');
  expect(shown(when(state, patch(tailRow(0), '{"b":"z"}'), at(104n)), at(104n))).toContain('row 30[0] {"a":2,"b":"z"}');
  when(state, patchTable({ changes: { remove: ['b'], add: columnsFrom('b:string') } }), at(105n));
  expect(shown(when(state, patch(tailRow(0), '{"a":4}'), at(106n)), at(106n))).toContain('row 30[0] {"a":4}');
});
