/** Upserts (docs/decisions/0079): which rows a table has after rows with keys were merged into it. */
import { describe, expect, test } from '@jest/globals';
import type { States } from '../../../../projections/models.ts';
import { given, here, tailRow, when, whenInOrder, type Given } from '../../../support/decisions.ts';
import {
  add,
  batchOf,
  cells,
  few,
  fewWithNulls,
  patch,
  remove,
  stash,
  upsert,
  type Asked,
  type BatchOperation,
  type Rows,
} from '../../../support/requests.ts';
import { idsOf, presentedRows, shownCounts } from '../../../support/shown-decisions.ts';

const before = ['{"a":1,"b":"x"}', '{"a":2,"b":"y"}'];

/** A table with the key `a`, these rows in its tail, and keys that no row has. */
function keyed(others: Given = {}): States {
  const state = given({ schema: 'a:number b:string', tail: before, key: ['a'], ...others });
  for (const text of ['["3"]', '["4"]', '["5"]']) state.tables.keys.put({ tableId: 'table', since: 10n }, text, null);
  return state;
}

describe('an upsert', () => {
  test.each<[string, Rows, Asked, string, string[], string]>([
    [
      'patches rows that have its keys, and adds the others',
      few('{"a":3,"b":"z"}', '{"a":2,"b":"w"}', '{"a":4}'),
      {},
      'ok 100 +2 ~1 =0 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"w"}', '{"a":3,"b":"z"}', '{"a":4}'],
      '30.0[2] 30.0[1] 30.0[3]',
    ],
    ['leaves columns that a row does not name', few('{"a":1}'), {}, 'ok 50 +0 ~0 =1 -0', before, '30.0[0]'],
    [
      'empties a cell by null',
      fewWithNulls('{"a":1,"b":null}', '{"a":3,"b":null}'),
      {},
      'ok 100 +1 ~1 =0 -0',
      ['{"a":1}', '{"a":2,"b":"y"}', '{"a":3}'],
      '30.0[0] 30.0[2]',
    ],
    [
      'empties a cell by an empty cell',
      cells('b,a\n,1\nw,2\n'),
      {},
      'ok 100 +0 ~2 =0 -0',
      ['{"a":1}', '{"a":2,"b":"w"}'],
      '30.0[0..1]',
    ],
    [
      'of cells leaves columns that the header does not name',
      cells('a\n1\n3\n'),
      {},
      'ok 100 +1 ~0 =1 -0',
      [...before, '{"a":3}'],
      '30.0[0] 30.0[2]',
    ],
    [
      'finds a row by another notation of its key',
      few('{"a":1.0,"b":"w"}'),
      {},
      'ok 100 +0 ~1 =0 -0',
      ['{"a":1,"b":"w"}', '{"a":2,"b":"y"}'],
      '30.0[0]',
    ],
    [
      'patches a row of its own with a later one',
      fewWithNulls('{"a":3,"b":"z"}', '{"a":4}', '{"a":3,"b":null}', '{"a":4,"b":"w"}', '{"a":4}'),
      {},
      'ok 100 +2 ~2 =1 -0',
      [...before, '{"a":3}', '{"a":4,"b":"w"}'],
      '30.0[2..3] 30.0[2..3] 30.0[3]',
    ],
    [
      'patches a row twice that was there',
      few('{"a":1,"b":"w"}', '{"a":1,"b":"x"}'),
      {},
      'ok 100 +0 ~2 =0 -0',
      before,
      '30.0[0] 30.0[0]',
    ],
    [
      'adds rows whose keys are empty',
      fewWithNulls('{"b":"x"}', '{"b":"x"}', '{"a":null}'),
      {},
      'ok 100 +3 ~0 =0 -0',
      [...before, '{"b":"x"}', '{"b":"x"}', '{}'],
      '30.0[2..4]',
    ],
    [
      'drops cells that do not fit, and leaves those of the table',
      few('{"a":1,"b":[7]}', '{"a":"x","b":"w"}', '{"a":2,"c":1}'),
      { mode: 'dropColumns' },
      'ok 100 +1 ~0 =2 -0',
      [...before, '{"b":"w"}'],
      '30.0[0] 30.0[2] 30.0[1]',
    ],
    [
      'widens and adds columns, but not a type of its key',
      few('{"a":2,"b":"w","c":[1]}', '{"a":3,"b":true}'),
      { mode: 'updateSchema' },
      'ok 100 +1 ~1 =0 -0',
      ['{"a":1,"b":"x"}', '{"a":2,"b":"w","c":[1]}', '{"a":3,"b":"true"}'],
      '30.0[1] 100.0[0]',
    ],
    ['of no rows changes nothing', few(), {}, 'ok 50 +0 ~0 =0 -0', before, ''],
    ['may guard the table', few('{"a":3}'), { ifMatch: 50n }, 'ok 100 +1 ~0 =0 -0', [...before, '{"a":3}'], '30.0[2]'],
  ])('an upsert %s', (_name, rows, asked, outcome, after, ids) => {
    const states = keyed();
    const decided = when(states, upsert(rows, asked)).outcome;
    expect([shownCounts(decided), presentedRows(states), idsOf(decided)]).toEqual([outcome, after, ids]);
    expect([states.tables.table('table')!.rows, states.teams.team('team')!.rows]).toEqual([after.length, after.length]);
  });

  test.each<[string, Rows, Asked, Given, string]>([
    [
      'of a table without a key',
      few('{"a":1}'),
      {},
      { key: [] },
      'request_validation_error: the table has no key by which rows could be found: declare one first',
    ],
    [
      'for a cell that does not fit',
      few('{"a":3}', '{"a":1,"b":[7]}'),
      {},
      {},
      "column_has_invalid_value: rows[1].b: [7] does not fit the column's type string",
    ],
    [
      'for a new type of its key',
      few('{"a":"x"}'),
      { mode: 'updateSchema' },
      {},
      'column_has_invalid_value: rows[0].a: "x" does not fit the column\'s type number',
    ],
    [
      'for a row that would be too long',
      few('{"a":3}', `{"a":1,"b":"${'w'.repeat(90)}"}`),
      {},
      {},
      'limit_exceeded: rows[1]: the row would have 104 bytes, more than 100',
    ],
    [
      'for rows that are too many, without those that it patches',
      few('{"a":1}', '{"a":3}', '{"a":4}'),
      { rowsPerTableMax: 3 },
      {},
      'limit_exceeded: the table would hold more than 3 rows',
    ],
    [
      'for more rows than the plan allows, without those that it patches',
      few('{"a":1}', '{"a":3}', '{"a":4}', '{"a":3}'),
      {},
      { rowsMax: 3 },
      "payment_required: the team's plan allows 3 rows and 2 are in use",
    ],
    [
      'of a table that somebody changed',
      few('{"a":3}'),
      { ifMatch: 49n },
      {},
      'precondition_failed: the table has changed: its version is 50, not 49 or older',
    ],
    ['of a suspended team', few('{"a":3}'), {}, { suspended: true }, 'payment_required: the team is suspended'],
    ['of another team', few('{"a":3}'), {}, { owner: 'another' }, 'table_not_found: there is no such table'],
    ['of a stash', stash, {}, {}, 'limit_exceeded: mode=upsert takes only rows that are in the request'],
  ])('an upsert is refused %s', (_name, rows, asked, { key, ...more }, refusal) => {
    const states = keyed(key === undefined ? more : { ...more });
    if (key !== undefined) states.tables.put({ ...states.tables.table('table')!, keyColumns: null, keySince: null });
    expect(shownCounts(when(states, upsert(rows, asked)).outcome)).toBe(refusal);
    expect(states.tables.changedTables()).toEqual([]);
  });

  test('sees what earlier requests did, and later ones see what it did', () => {
    const states = keyed();
    const at = (version: bigint): typeof here => ({ ...here, version });
    when(states, patch(tailRow(0), '{"a":3}'), at(100n));
    when(states, remove(tailRow(1)), at(101n));
    const decided = when(states, upsert(few('{"a":3,"b":"w"}', '{"a":1}', '{"a":2}')), at(102n)).outcome;
    expect([shownCounts(decided), idsOf(decided)]).toEqual(['ok 102 +2 ~1 =0 -0', '30.0[0] 30.0[2..3]']);
    expect(presentedRows(states)).toEqual(['{"a":3,"b":"w"}', '{"a":1}', '{"a":2}']);
    expect(shownCounts(when(states, add(few('{"a":1}')), at(103n)).outcome)).toMatch(/^key_not_unique/);
    expect(when(states, patch(tailRow(2), '{"a":5}'), at(104n)).outcome.status).toBe('applied');
    expect(shownCounts(when(states, upsert(few('{"a":1}')), at(105n)).outcome)).toBe('ok 105 +1 ~0 =0 -0');
  });
});

describe('a batch', () => {
  test.each<[string, BatchOperation[], string, string[], string]>([
    [
      'upserts in order with the other operations',
      [
        ['upsert', '{"a":3,"b":"z"}'],
        ['patch', tailRow(0), '{"a":4}'],
        ['upsert', '{"a":4,"b":null}'],
        ['delete', tailRow(1)],
        ['upsert', '{"a":2}'],
        ['upsert', '{"a":3}'],
        ['add', '{"a":5}'],
      ],
      'ok 100 +3 ~2 =1 -1',
      ['{"a":4}', '{"a":3,"b":"z"}', '{"a":2}', '{"a":5}'],
      '30.0[2] 30.0[0] 30.0[0..1] 30.0[3] 30.0[2] 30.0[4]',
    ],
    [
      'is refused with the place of an operation',
      [
        ['upsert', '{"a":3}'],
        ['add', '{"a":3}'],
      ],
      'key_not_unique: operations[1].row: row AAAAAAAAAB4AAAAAAAAAAg has the same key, "a" = 3',
      before,
      '',
    ],
  ])('a batch %s', async (_name, operations, outcome, after, ids) => {
    const states = keyed();
    const decided = await whenInOrder(states, batchOf(operations));
    expect([shownCounts(decided), presentedRows(states), idsOf(decided)]).toEqual([outcome, after, ids]);
  });
});
