/** Patching a row (spec 4.4): what becomes of a row of version 20 or 30 in a table of version 50, at version 100. */
import { describe, expect, test } from '@jest/globals';

import { blockRow, given, here, tailRow, when } from '../../../support/decisions.ts';
import { add, few, patch, remove } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Asked } from '../../../support/requests.ts';

type Case = readonly [name: string, row: string, change: string, asked: Asked, outcome: string];

const changedExtent = 'extent 20 1 by 10 changed';

/** Patches the only row, which is in a block as it was received. */
function check(_name: string, row: string, change: string, asked: Asked, outcome: string): void {
  expect(shown(when(given({ block: [row] }), patch(blockRow(0), change, asked)))).toBe(outcome);
}

describe('a patch', () => {
  const applied = `ok 100 | table 1 | ${changedExtent}`;

  test.each<Case>([
    ['sets a column', '{"a":1,"b":"x"}', '{"a":2}', {}, `${applied} | row 20[0] {"a":2,"b":"x"}`],
    ['fills an empty one', '{"b":"x"}', '{"a":2}', {}, `${applied} | row 20[0] {"a":2,"b":"x"}`],
    ['clears one by null', '{"a":1,"b":"x"}', '{"a":null}', {}, `${applied} | row 20[0] {"b":"x"}`],
    ['may clear all', '{"a":1}', '{"a":null}', {}, `${applied} | row 20[0] {}`],
    ['fits its values', '{}', '{"b":4.20}', {}, `${applied} | row 20[0] {"b":"4.20"}`],
    ['fits the older values too', '{"b":1}', '{"a":2}', {}, `${applied} | row 20[0] {"a":2,"b":"1"}`],
    ['loses older values that never fitted', '{"a":"x","b":"y"}', '{"b":"z"}', {}, `${applied} | row 20[0] {"b":"z"}`],
    [
      'drops wrong cells',
      '{"a":1}',
      '{"a":"x","b":"y","c":1}',
      { mode: 'dropColumns' },
      `${applied} | row 20[0] {"a":1,"b":"y"}`,
    ],
  ])('a patch %s', check);
});

describe('a patch changes nothing', () => {
  test.each<Case>([
    ['that is empty', '{"a":1}', '{}', {}, 'ok 20'],
    ['of the same value', '{"a":1,"b":"x"}', '{"b":"x"}', {}, 'ok 20'],
    ['of the same number, written otherwise', '{"a":100}', '{"a":1e2}', {}, 'ok 20'],
    ['of the same text, sent as a number', '{"b":"42"}', '{"b":42}', {}, 'ok 20'],
    ['that clears an empty column', '{"b":"x"}', '{"a":null}', {}, 'ok 20'],
    ['of which all is dropped', '{"a":1}', '{"a":"x","c":1}', { mode: 'dropColumns' }, 'ok 20'],
    ['also if it may update the schema', '{"a":1}', '{"a":1}', { mode: 'updateSchema' }, 'ok 20'],
  ])('a patch %s changes nothing', check);
});

describe('a patch is refused', () => {
  const unknown = 'column_id_not_found: c: the table has no column "c"';

  test.each<Case>([
    [
      'for a value that does not fit',
      '{}',
      '{"b":"x","a":true}',
      {},
      "column_has_invalid_value: a: true does not fit the column's type number",
    ],
    ['for an unknown column', '{}', '{"c":1}', {}, unknown],
    ['for an unknown column that is null', '{}', '{"c":null}', {}, unknown],
    ['for the first that is wrong', '{}', '{"c":1,"a":true}', {}, unknown],
    [
      'for `$stashID`',
      '{}',
      '{"$stashID":1}',
      {},
      'column_id_reserved: $stashID: the column ID "$stashID" is reserved',
    ],
    [
      'for a row too long',
      '{"a":1}',
      '{"b":"x"}',
      { rowBytesMax: 14 },
      'limit_exceeded: the row would have 15 bytes, more than 14',
    ],
    [
      'for too many columns',
      '{}',
      '{"c":1}',
      { mode: 'updateSchema', columnsMax: 2 },
      'limit_exceeded: the table would have 3 columns; at most 2 are allowed',
    ],
    [
      'for a version before',
      '{}',
      '{"a":1}',
      { ifMatch: 19n },
      'precondition_failed: the row has changed: its version is 20, not 19 or older',
    ],
  ])('a patch is refused %s', check);

  test.each([20n, 21n, 50n])('a patch is accepted with the version %d in If-Match', (ifMatch) => {
    expect(when(given({ block: ['{}'] }), patch(blockRow(0), '{"a":1}', { ifMatch })).outcome.status).toBe('applied');
  });
});

describe('a patch that may update the schema', () => {
  test.each<Case>([
    [
      'appends columns',
      '{"a":1}',
      '{"c":true}',
      { mode: 'updateSchema' },
      `ok 100 | table 1 new schema | schema a:number b:string c:boolean | ${changedExtent} | row 20[0] {"a":1,"c":true}`,
    ],
    [
      'appends a column that is null, and leaves the row',
      '{"a":1}',
      '{"c":null}',
      { mode: 'updateSchema' },
      'ok 20 | table 1 new schema | schema a:number b:string c:string',
    ],
    [
      'widens',
      '{"a":1}',
      '{"a":"x"}',
      { mode: 'updateSchema' },
      `ok 100 | table 1 new schema widened | schema a:string b:string | ${changedExtent} | row 20[0] {"a":"x"}`,
    ],
  ])('a patch that may update the schema %s', check);

  test('wraps a scalar for an array column', () => {
    const state = given({ schema: 'a:array<number>', block: ['{"a":[1]}'] });
    expect(shown(when(state, patch(blockRow(0), '{"a":2}', { mode: 'updateSchema' })))).toBe(
      `ok 100 | table 1 | ${changedExtent} | row 20[0] {"a":[2]}`,
    );
  });

  test('does not change the ETag of a row that it does not change after the last widening', () => {
    const state = given({ schema: 'a:number', widened: 40n, block: ['{"a":1}'] });
    expect(shown(when(state, patch(blockRow(0), '{"c":null}', { mode: 'updateSchema' })))).toBe(
      'ok 40 | table 1 new schema | schema a:number c:string',
    );
  });

  test('gives the row the ETag of the widening, even if the row does not change', () => {
    const state = given({ schema: 'a:date', block: ['{"a":"2024-02-29"}', '{}'] });
    expect(shown(when(state, patch(blockRow(1), '{"a":"2024-02-29T10:00:00Z"}', { mode: 'updateSchema' })))).toContain(
      'ok 100 | table 2 new schema widened',
    );
    expect(shown(when(state, patch(blockRow(0), '{}')))).toBe('ok 100');
  });
});

describe('the row that is patched', () => {
  type RowCase = readonly [name: string, state: Given, outcome: string];
  const ofBlock = `ok 100 | table 1 | ${changedExtent}`;
  const ofTail = 'ok 100 | table 1 open | extent 30 1 by 10 plain changed';

  test.each<RowCase>([
    ['is read as it was received', { block: ['{"b":1}'] }, `${ofBlock} | row 20[0] {"b":"1","new":1}`],
    ['is read as it was presented', { tail: ['{"b":"1"}'] }, `${ofTail} | row 30[0] {"b":"1","new":1}`],
    [
      'is widened from the type of its day',
      { schema: 'a:number b:number<40:string new:number', block: ['{"b":1}'] },
      `${ofBlock} | row 20[0] {"b":"1","new":1}`,
    ],
    [
      'is widened in order',
      { schema: 'b:date<40:dateTime<45:array<dateTime> new:number', widened: 45n, tail: ['{"b":"2024-02-29"}'] },
      `${ofTail} | row 30[0] {"b":["2024-02-29"],"new":1}`,
    ],
    [
      'has its scalars wrapped if they came so',
      { schema: 'b:array<number> new:number', block: ['{"b":1}'], wrap: true },
      'ok 100 | table 1 | extent 20 1 by 10 wrap changed | row 20[0] {"b":[1],"new":1}',
    ],
    [
      'has lost its scalars if they did not',
      { schema: 'b:array<number> new:number', block: ['{"b":1}'] },
      `${ofBlock} | row 20[0] {"new":1}`,
    ],
  ])('the row that is patched %s', (_name, state, outcome) => {
    const row = state.tail ? tailRow(0) : blockRow(0);
    const decision = when(given({ schema: 'a:number b:string new:number', ...state }), patch(row, '{"new":1}'));
    expect(shown(decision)).toBe(outcome);
  });

  test('can be patched again, based on its present content', () => {
    const state = given({ block: ['{"a":1}'] });
    when(state, patch(blockRow(0), '{"b":"x"}'));
    const next = { ...here, version: 101n };
    expect(shown(when(state, patch(blockRow(0), '{"a":2}', { ifMatch: 99n }), next), next)).toBe(
      'precondition_failed: the row has changed: its version is 100, not 99 or older',
    );
    expect(shown(when(state, patch(blockRow(0), '{"a":2}', { ifMatch: 100n }), next), next)).toBe(
      'ok 101 | table 1 | row 20[0] {"a":2,"b":"x"}',
    );
  });

  test('is not widened twice', () => {
    const state = given({ schema: 'b:number<40:array<number> new:number', block: ['{"b":1}'] });
    when(state, patch(blockRow(0), '{"new":1}'));
    const next = { ...here, version: 101n };
    expect(shown(when(state, patch(blockRow(0), '{"new":2}'), next), next)).toBe(
      'ok 101 | table 1 | row 20[0] {"b":[1],"new":2}',
    );
  });

  test('may have been added by the previous event', () => {
    const state = given();
    when(state, add(few('{"a":1}')));
    const next = { ...here, version: 101n };
    expect(shown(when(state, patch({ version: 100n, ordinal: 0, index: 0 }, '{"b":"x"}'), next), next)).toBe(
      'ok 101 | table 1 open | extent 100 1 by 10 plain changed | row 100[0] {"a":1,"b":"x"}',
    );
  });

  const missing = 'row_not_found: there is no such row';

  test.each([
    ['has another version', { ...blockRow(0), version: 21n }],
    ['has another ordinal', { ...blockRow(0), ordinal: 1 }],
    ['has an index that its extent never had', blockRow(1)],
  ])('is not found if it %s', (_name, row) => {
    expect(shown(when(given({ block: ['{}'] }), patch(row, '{"a":1}')))).toBe(missing);
  });

  test('is not found once it is deleted, whatever the state has of it', () => {
    const state = given({ block: ['{}'] });
    when(state, remove(blockRow(0)));
    expect(shown(when(state, patch(blockRow(0), '{"a":1}', { ifMatch: 0n })))).toBe(missing);
  });

  test('is not found in another generation', () => {
    const state = given({ block: ['{}'] });
    state.tables.put({ ...state.tables.table('table')!, generation: 60n });
    expect(shown(when(state, patch(blockRow(0), '{"a":1}')))).toBe(missing);
  });

  test('counts as the longest row of its table', () => {
    const state = given({ block: ['{}'] });
    when(state, patch(blockRow(0), '{"b":"0123456789"}'));
    expect(state.tables.table('table')!.rowBytesMax).toBe('{"b":"0123456789"}'.length);
  });
});
