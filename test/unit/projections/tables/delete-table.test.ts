/** Deleting a table of version 50, at version 100; and all that comes behind that. */
import { describe, expect, test } from '@jest/globals';

import { blockRow, given, here, tailRow, when } from '../../../support/decisions.ts';
import {
  add,
  block,
  create,
  few,
  noRows,
  overwrite,
  patch,
  patchTable,
  remove,
  removeTable,
} from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Asked, Request } from '../../../support/requests.ts';

const two = ['{"a":1}', '{"a":2}'];
const noTable = 'table_not_found: there is no such table';

test.each<readonly [name: string, state: Given, asked: Asked, outcome: string]>([
  ['a table without rows', {}, {}, 'ok | table 0 deleted | generation 10 ended by 100 | team 0'],
  [
    'a table with rows leaves room for others',
    { block: two, tail: two, otherRows: 3 },
    {},
    'ok | table 0 deleted | generation 10 ended by 100 | team 3',
  ],
  [
    'a version that is right',
    { block: two },
    { ifMatch: 50n },
    'ok | table 0 deleted | generation 10 ended by 100 | team 0',
  ],
  [
    'a version before',
    { block: two },
    { ifMatch: 49n },
    'precondition_failed: the table has changed: its version is 50, not 49 or older',
  ],
  ['a suspended team', { suspended: true }, { ifMatch: 1n }, 'payment_required: the team is suspended'],
  ['a table that is not there is no error', { owner: 'nobody' }, {}, 'ok'],
  ['it has no version to match', { owner: 'nobody' }, { ifMatch: 0n }, 'ok'],
  ['nor is it one for a suspended team', { owner: 'nobody', suspended: true }, {}, 'ok'],
  ["another team's table is not there", { owner: 'another', block: two }, {}, 'ok'],
])('a table is deleted or the request refused: %s', (_name, state, asked, outcome) =>
  expect(shown(when(given(state), removeTable(asked)))).toBe(outcome),
);

describe('after the end of a table, in the same batch,', () => {
  const next = { ...here, version: 101n };
  test.each<readonly [name: string, request: Request, outcome: string]>([
    ['its rows are not patched', patch(blockRow(0), '{"a":5}'), noTable],
    ['its rows are not deleted', remove(tailRow(0)), noTable],
    ['no few rows are added', add(few('{"a":5}')), noTable],
    ['no block is added', add(block('{"a":5}')), noTable],
    ['no rows at all are added', add(noRows), noTable],
    ['it is not overwritten', overwrite(few('{"a":5}')), noTable],
    ['it is not overwritten with another schema', overwrite(noRows, { schema: 'z:number' }), noTable],
    ['it has no other name', patchTable({ name: 'New' }), noTable],
    ['it is not deleted again', removeTable({ ifMatch: 0n }), 'ok'],
    ['other tables are made', create(noRows, { schema: 'a:number' }), 'ok 101 | table 0 new schema | schema a:number'],
  ])('behind the end of a table, in the same batch, %s', (_name, request, outcome) => {
    const state = given({ block: two, tail: two });
    when(state, removeTable());
    expect(shown(when(state, request, next), next)).toBe(outcome);
  });

  test('its part of the plan is free', () => {
    const state = given({ block: two, rowsMax: 2 });
    expect(shown(when(state, create(few('{"a":1}'))))).toMatch(/^payment_required: /);
    when(state, removeTable());
    expect(shown(when(state, create(few('{"a":1}')), next), next)).toMatch(/^ok 101 /);
  });
});

test('a table can be created and deleted in one batch', () => {
  const state = given();
  when(state, create(few('{"a":1}')));
  const { outcome, changes } = when(
    state,
    {
      data: { type: 'TableDeleteRequested', teamId: 'team', tableId: 'made', ifMatch: null },
    },
    { ...here, version: 101n },
  );
  expect([outcome.status, changes.length]).toEqual(['applied', 3]);
  expect(state.tables.newTables()).toMatchObject([
    { id: 'made', deleted: true, rows: 0, tail: null, createdAt: here.time },
  ]);
  expect(state.tables.changedTables()).toEqual([]);
  expect(state.teams.team('team')!.rows).toBe(0);
});

test('a deleted table stays in the state to be stored, but requests do not find it', () => {
  const state = given({ block: two });
  when(state, removeTable());
  expect(state.tables.table('table')).toBeNull();
  expect(state.tables.find('table')).toMatchObject({ deleted: true });
  expect(state.tables.changedTables()).toMatchObject([{ id: 'table', deleted: true }]);
});
