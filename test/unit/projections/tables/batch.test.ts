/**
 * Batches (docs/spec/batches.md): what becomes of rows of version 20 and 30 in a table of version 50 by the operations
 * of a batch at version 100.
 */
import { describe, expect, test } from '@jest/globals';
import { formatRowId } from '../../../../src/language/events/row-id.ts';
import { blockRow, given, here, tailRow, when, whenInOrder, type Given } from '../../../support/decisions.ts';
import { add, batchOf, few, patch, type Asked, type BatchOperation } from '../../../support/requests.ts';
import { idsOf, presentedRows, shownCounts } from '../../../support/shown-decisions.ts';

const state: Given = { block: ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}'], tail: ['{"a":3,"b":"z"}'] };

describe('a batch', () => {
  test.each<[string, BatchOperation[], Asked, string, string[], string]>([
    [
      'adds, patches and deletes',
      [
        ['add', '{"a":4}'],
        ['patch', blockRow(0), '{"a":9}'],
        ['delete', blockRow(1)],
        ['add', '{"a":5}'],
      ],
      {},
      'ok 100 +2 ~1 =0 -1',
      ['{"a":9,"b":"x"}', '{"a":3,"b":"z"}', '{"a":4}', '{"a":5}'],
      '30.0[1] 20.0[0..1] 30.0[2]',
    ],
    [
      'patches what it patched before',
      [
        ['patch', tailRow(0), '{"a":4}'],
        ['patch', tailRow(0), '{"b":null}'],
        ['patch', tailRow(0), '{"a":4}'],
      ],
      {},
      'ok 100 +0 ~2 =1 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":4}'],
      '30.0[0] 30.0[0] 30.0[0]',
    ],
    [
      'patches a row that it added',
      [
        ['add', '{"a":4}'],
        ['patch', tailRow(1), '{"b":"w"}'],
      ],
      {},
      'ok 100 +1 ~1 =0 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":3,"b":"z"}', '{"a":4,"b":"w"}'],
      '30.0[1] 30.0[1]',
    ],
    [
      'deletes once',
      [
        ['delete', tailRow(0)],
        ['delete', tailRow(0)],
        ['delete', blockRow(7)],
      ],
      {},
      'ok 100 +0 ~0 =2 -1',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}'],
      '30.0[0] 30.0[0] 20.0[7]',
    ],
    [
      'that changes nothing has the version of the table',
      [
        ['patch', tailRow(0), '{"a":3.0}'],
        ['delete', blockRow(9)],
      ],
      {},
      'ok 50 +0 ~0 =2 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":3,"b":"z"}'],
      '30.0[0] 20.0[9]',
    ],
    [
      'drops cells',
      [
        ['add', '{"a":"x","b":"w"}'],
        ['patch', tailRow(0), '{"a":"x","c":1}'],
      ],
      { mode: 'dropColumns' },
      'ok 100 +1 ~0 =1 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":3,"b":"z"}', '{"b":"w"}'],
      '30.0[1] 30.0[0]',
    ],
    [
      'widens a column for all of its rows, and earlier ones',
      [
        ['add', '{"a":4}'],
        ['add', '{"a":"x"}'],
        ['patch', blockRow(0), '{"a":true}'],
      ],
      { mode: 'updateSchema' },
      'ok 100 +2 ~1 =0 -0',
      ['{"a":"true","b":"x"}', '{"a":"2","b":"y"}', '{"a":"3","b":"z"}', '{"a":"4"}', '{"a":"x"}'],
      '100.0[0..1] 20.0[0]',
    ],
    [
      'adds columns',
      [
        ['patch', tailRow(0), '{"c":1}'],
        ['add', '{"d":[1]}'],
        ['add', '{"c":2}'],
      ],
      { mode: 'updateSchema' },
      'ok 100 +2 ~1 =0 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":3,"b":"z","c":1}', '{"d":[1]}', '{"c":2}'],
      '30.0[0] 100.0[0..1]',
    ],
    [
      'may only add a column',
      [['patch', tailRow(0), '{"c":null}']],
      { mode: 'updateSchema' },
      'ok 100 +0 ~0 =1 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":3,"b":"z"}'],
      '30.0[0]',
    ],
    [
      'leaves out nulls of rows that it adds',
      [['add', '{"a":null,"b":"w"}']],
      {},
      'ok 100 +1 ~0 =0 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":3,"b":"z"}', '{"b":"w"}'],
      '30.0[1]',
    ],
    [
      'guards rows by their versions before it',
      [
        ['patch', tailRow(0), '{"a":4}', 30n],
        ['delete', blockRow(0), 20n],
      ],
      { ifMatch: 50n },
      'ok 100 +0 ~1 =0 -1',
      ['{"a":2,"b":"y"}', '{"a":4,"b":"z"}'],
      '30.0[0] 20.0[0]',
    ],
  ])('a batch %s', async (_name, operations, asked, outcome, rows, ids) => {
    const states = given(state);
    const decided = await whenInOrder(states, batchOf(operations, asked));
    expect([shownCounts(decided), presentedRows(states), idsOf(decided)]).toEqual([outcome, rows, ids]);
    const team = states.teams.team('team')!;
    expect([states.tables.table('table')!.rows, team.rows]).toEqual([rows.length, rows.length]);
  });
});

describe('a batch is refused whole', () => {
  const before = ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}', '{"a":3,"b":"z"}'];
  const fits: BatchOperation = ['patch', tailRow(0), '{"a":4}'];

  test.each<[string, BatchOperation[], Asked, Given, string]>([
    [
      'for a cell that does not fit',
      [fits, ['delete', blockRow(0)], ['add', '{"a":"x"}']],
      {},
      {},
      'column_has_invalid_value: operations[2].row.a: "x" does not fit the column\'s type number',
    ],
    [
      'for an unknown column',
      [
        ['add', '{"a":4}'],
        ['patch', tailRow(0), '{"c":null}'],
      ],
      {},
      {},
      'column_id_not_found: operations[1].row.c: the table has no column "c"',
    ],
    [
      'for a row that is not there',
      [fits, ['patch', blockRow(9), '{"a":1}']],
      {},
      {},
      'row_not_found: operations[1]: there is no such row',
    ],
    [
      'for a row that it deleted before',
      [fits, ['delete', blockRow(0)], ['patch', blockRow(0), '{"a":1}']],
      {},
      {},
      'row_not_found: operations[2]: there is no such row',
    ],
    [
      'for a row that somebody changed',
      [fits, ['delete', blockRow(0), 19n]],
      {},
      {},
      'precondition_failed: operations[1]: the row has changed: its version is 20, not 19 or older',
    ],
    [
      'for a row that it changed itself',
      [fits, ['patch', tailRow(0), '{"a":5}', 30n]],
      {},
      {},
      'precondition_failed: operations[1]: the row has changed: its version is 100, not 30 or older',
    ],
    [
      'for a table that somebody changed',
      [fits],
      { ifMatch: 49n },
      {},
      'precondition_failed: the table has changed: its version is 50, not 49 or older',
    ],
    [
      'for the first row that is too many',
      [
        ['delete', blockRow(0)],
        ['add', '{"a":4}'],
        ['add', '{"a":5}'],
      ],
      { rowsPerTableMax: 3 },
      {},
      'limit_exceeded: operations[2]: the table would hold more than 3 rows',
    ],
    [
      'for more rows than the plan allows',
      [
        ['add', '{"a":4}'],
        ['add', '{"a":5}'],
      ],
      {},
      { rowsMax: 4 },
      "payment_required: operations[1]: the team's plan allows 4 rows and 4 are in use",
    ],
    [
      'for a row that would be too long',
      [fits, ['patch', blockRow(0), `{"b":"${'x'.repeat(90)}"}`]],
      {},
      {},
      'limit_exceeded: operations[1]: the row would have 104 bytes, more than 100',
    ],
    [
      'for too many columns',
      [
        ['add', '{"c":1,"d":1}'],
        ['add', '{"e":1,"f":1}'],
      ],
      { mode: 'updateSchema' },
      {},
      'limit_exceeded: the table would have 6 columns; at most 5 are allowed',
    ],
    ['of a suspended team', [fits], {}, { suspended: true }, 'payment_required: the team is suspended'],
    ['of another team', [fits], {}, { owner: 'another' }, 'table_not_found: there is no such table'],
  ])('a batch is refused whole %s', async (_name, operations, asked, more, refusal) => {
    const states = given({ ...state, ...more });
    expect(shownCounts(await whenInOrder(states, batchOf(operations, asked)))).toBe(refusal);
    expect(presentedRows(states)).toEqual(before);
    const { tables } = states;
    const { version, rows } = tables.table('table')!;
    expect([version, rows, states.teams.team('team')!.rows]).toEqual([50n, 3, 3]);
    expect([tables.changedRows(), tables.newTailRows, tables.newSchemas, tables.changedTables()]).toEqual([
      [],
      [],
      [],
      [],
    ]);
  });
});

describe('a batch of rows that a filter found', () => {
  test.each<[string, BatchOperation[], Asked, Given, string]>([
    [
      'after which a column was added is applied',
      [['delete', blockRow(0)]],
      { foundAt: 40n },
      { widened: 40n },
      'ok 100 +0 ~0 =0 -1',
    ],
    [
      'before columns changed is refused',
      [['delete', blockRow(0)]],
      { foundAt: 40n },
      { widened: 41n },
      'precondition_failed: the schema has changed: its version is 41, not 40 or older',
    ],
    [
      'is refused with the name of the column',
      [['patch', blockRow(1), '{"a":"x"}']],
      { foundAt: 50n },
      {},
      'column_has_invalid_value: a: "x" does not fit the column\'s type number',
    ],
    [
      'is refused with the ID of the row',
      [
        ['delete', blockRow(0)],
        ['patch', blockRow(1), '{"a":4}', 19n],
      ],
      { foundAt: 50n },
      {},
      `precondition_failed: row ${formatRowId(blockRow(1))}: the row has changed: its version is 20, not 19 or older`,
    ],
    [
      'is refused with the ID of the row once, if the reason names it too',
      [['patch', blockRow(1), '{"a":3}']],
      { foundAt: 50n },
      { key: ['a'] },
      `key_not_unique: row ${formatRowId(blockRow(1))}: row ${formatRowId(tailRow(0))} has the same key, "a" = 3`,
    ],
  ])('a batch of rows that a filter found %s', async (_name, operations, asked, more, outcome) => {
    const states = given({ ...state, ...more });
    expect(shownCounts(await whenInOrder(states, batchOf(operations, asked)))).toBe(outcome);
  });
});

test('rows that a tail has no room for begin another one', async () => {
  const states = given({ tail: ['{"a":1}'], tailExtent: { rows: 9_999 } });
  const operations = Array.from({ length: 10_000 }, (_, row): BatchOperation => ['add', `{"a":${row}}`]);
  const outcome = await whenInOrder(states, batchOf(operations));
  expect(idsOf(outcome)).toBe('30.0[9999] 100.0[0..9998]');
  const next = await whenInOrder(states, batchOf(operations.slice(0, 2)), { ...here, version: 101n });
  expect(idsOf(next)).toBe('100.0[9999] 101.0[0]');
});

test('tails that are full by their bytes begin others within one event', async () => {
  const states = given({ schema: 'b:string', tail: [] });
  const limits = { rowBytesMax: 1_000_000 };
  const long = `{"b":"${'x'.repeat(150_000)}"}`;
  const outcome = await whenInOrder(
    states,
    batchOf(
      Array.from({ length: 6 }, (): BatchOperation => ['add', long]),
      limits,
    ),
  );
  expect(idsOf(outcome)).toBe('30.0[0..5]');
  const open = [...states.tables.allExtents()].at(-1)!;
  states.tables.changeExtent({ ...open, bytes: 1_000_000 });
  const twice = await whenInOrder(
    states,
    batchOf([['add', '{"b":"y"}'], ...Array.from({ length: 6 }, (): BatchOperation => ['add', long])], limits),
    { ...here, version: 101n },
  );
  expect(idsOf(twice)).toBe('30.0[6] 101.0[0..5]');
});

test('later requests see what a batch did, and nothing of one that was refused', async () => {
  const states = given(state);
  await whenInOrder(
    states,
    batchOf([
      ['patch', tailRow(0), '{"a":4}'],
      ['add', '{"a":1}'],
      ['patch', blockRow(9), '{}'],
    ]),
  );
  expect(when(states, patch(tailRow(0), '{"a":5}', { ifMatch: 30n })).outcome.status).toBe('applied');
  const later = { ...here, version: 101n };
  await whenInOrder(
    states,
    batchOf([
      ['delete', tailRow(0)],
      ['add', '{"a":6}'],
    ]),
    later,
  );
  const last = { ...here, version: 102n };
  expect(when(states, patch(tailRow(0), '{"a":5}'), last).outcome.status).toBe('refused');
  expect(idsOf(when(states, add(few('{"a":7}')), last).outcome)).toBe('30.0[2]');
});
