/** Patching a table of version 50, at version 100: its name, and the names its columns are shown under. */
import { expect, test } from '@jest/globals';

import { given, here, tailRow, when } from '../../../support/decisions.ts';
import { add, few, patch, patchTable } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
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

test('display names come and go, and each time move the version', () => {
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

test('rows read as before: those that were there are not converted, and those that come begin a tail of their own', () => {
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
