/**
 * Overwriting (spec 4.12): what becomes of a table with the columns `a:number b:string`, version 50, at version 100.
 */
import { describe, expect, test } from '@jest/globals';

import { blockRow, given, here, tailRow, when } from '../../../support/decisions.ts';
import { add, block, body, few, noRows, overwrite, patch, remove, stash } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Asked, Rows } from '../../../support/requests.ts';
import { formatRowId, type RowAddress } from '../../../../src/language/events/row-id.ts';

type Case = readonly [name: string, state: Given, rows: Rows, asked: Asked & { schema?: string }, outcome: string];

const one = '{"a":1}';
const two = [one, '{"a":2}'];

/** A row with an ID, as a client sends it back. */
function withId(id: RowAddress | string, text = one): string {
  return `{"$rowID":"${typeof id === 'string' ? id : formatRowId(id)}",${text.slice(1)}`;
}

function check(_name: string, state: Given, rows: Rows, asked: Case[3], outcome: string): void {
  expect(shown(when(given(state), overwrite(rows, asked)))).toBe(outcome);
}

describe('the rows of a table', () => {
  const ended = 'generation 10 ended by 100';

  test.each<Case>([
    [
      'are replaced by a few',
      { block: two, otherRows: 5 },
      few(one),
      {},
      `ok 100 | table 1 open | ${ended} | team 5 | extent 100 1 by 10 plain | rows 100[0] {"a":1} | team 6`,
    ],
    [
      'are replaced by a block, and the tail ends',
      { tail: two },
      block(one, one, one),
      {},
      `ok 100 | table 3 | ${ended} | team 0 | extent 100 3 by 10 plain | team 3`,
    ],
    [
      'are replaced by several blocks',
      { tail: two },
      body([5, one], [0, one, one]),
      {},
      `ok 100 | table 3 | ${ended} | team 0 | extent 100 1 by 10 plain | extent 100.1 2 by 10 plain | team 3`,
    ],
    ['are cleared', { block: two, otherRows: 1 }, noRows, {}, `ok 100 | table 0 | ${ended} | team 1`],
    ['are cleared where there are none', {}, noRows, {}, `ok 100 | table 0 | ${ended} | team 0`],
    [
      'are replaced under another schema',
      { block: two },
      few('{"c":"x"}'),
      { schema: 'c:string d:date' },
      `ok 100 | table 1 new schema open | ${ended} | team 0 | schema c:string d:date | extent 100 1 by 100 plain ` +
        '| rows 100[0] {"c":"x"} | team 1',
    ],
    [
      'are replaced under another schema that their values widen',
      { block: two },
      few('{"a":"x"}'),
      { schema: 'a:number', mode: 'updateSchema' },
      `ok 100 | table 1 new schema widened open | ${ended} | team 0 | schema a:string | extent 100 1 by 100 plain ` +
        '| rows 100[0] {"a":"x"} | team 1',
    ],
    [
      'are replaced by what fits',
      { block: two },
      few('{"a":"x","b":"y","z":1}'),
      { mode: 'dropColumns' },
      `ok 100 | table 1 open | ${ended} | team 0 | extent 100 1 by 10 plain | rows 100[0] {"b":"y"} | team 1`,
    ],
    [
      'make room for as many',
      { block: two, rowsMax: 2 },
      block(one, one),
      {},
      `ok 100 | table 2 | ${ended} | team 0 | extent 100 2 by 10 plain | team 2`,
    ],
  ])('the rows of a table %s', check);
});

describe('is refused, in the order of the guards:', () => {
  const far: RowAddress = { version: 77n, ordinal: 0, index: 0 };
  const unknown = `request_validation_error: rows[0].$rowID: "${formatRowId(far)}" is the ID of no row that this table ever had`;

  test.each<Case>([
    ['no table', { owner: 'nobody' }, few('{"z":1}'), { ifMatch: 1n }, 'table_not_found: there is no such table'],
    [
      'a suspended team',
      { suspended: true },
      few('{"z":1}'),
      { ifMatch: 1n },
      'payment_required: the team is suspended',
    ],
    [
      'another version',
      {},
      stash,
      { ifMatch: 49n },
      'precondition_failed: the table has changed: its version is 50, not 49 or older',
    ],
    [
      'a wrong schema',
      {},
      few(withId(far)),
      { schema: 'a:number a:string' },
      'column_id_not_unique: schema.columns[1].id: the column ID "a" occurs twice',
    ],
    ['no stash', {}, stash, {}, 'stash_not_found: there is no stash stash'],
    ['a row ID', {}, few(withId(far, '{"z":1}')), {}, unknown],
    [
      'a cell',
      { rowsMax: 0 },
      few('{"a":"x"}'),
      {},
      `column_has_invalid_value: rows[0].a: "x" does not fit the column's type number`,
    ],
    [
      'too many columns',
      {},
      few(one),
      { schema: 'a:number b:number', columnsMax: 1 },
      'limit_exceeded: the table would have 2 columns; at most 1 are allowed',
    ],
    [
      'too many rows',
      { block: two },
      block(one, one),
      { rowsPerTableMax: 1 },
      'limit_exceeded: the table would hold more than 1 rows',
    ],
    [
      'too many rows of the team',
      { block: two, otherRows: 3, rowsMax: 4 },
      block(one, one),
      {},
      "payment_required: the team's plan allows 4 rows and 3 are in use",
    ],
  ])('an overwrite is refused for %s', check);

  test('a refused overwrite changes nothing', () => {
    const state = given({ block: two });
    expect(when(state, overwrite(few('{"z":1}'))).changes).toEqual([]);
    expect(shown(when(state, patch(blockRow(0), '{"a":7}')))).toContain('row 20[0] {"a":7}');
  });
});

describe('row IDs', () => {
  const never = (row: number, id: RowAddress): string =>
    `request_validation_error: rows[${row}].$rowID: "${formatRowId(id)}" is the ID of no row that this table ever had`;

  test.each<readonly [string, Rows, string]>([
    [
      'of a few rows are retained',
      few(withId(blockRow(1)), one, withId(tailRow(0))),
      'extent 100 3 by 10 plain retains',
    ],
    ['of a block are retained', block(withId(blockRow(1)), one), 'extent 100 2 by 10 plain retains'],
    [
      'of several blocks are retained',
      body([1, one], [0, withId(tailRow(1))]),
      'extent 100 1 by 10 plain | extent 100.1 1 by 10 plain retains',
    ],
    ['may be null', few('{"$rowID":null,"a":1}'), 'extent 100 1 by 10 plain |'],
  ])('the row IDs %s', (_name, rows, extent) => {
    expect(shown(when(given({ block: two, tail: two }), overwrite(rows)))).toContain(extent);
  });

  test.each<readonly [string, Rows, string]>([
    ['behind the end of a block', few(one, withId(blockRow(2))), never(1, blockRow(2))],
    [
      'behind the end of the tail',
      block(withId(tailRow(0)), withId(tailRow(1)), withId(tailRow(2))),
      never(2, tailRow(2)),
    ],
    [
      'of another extent',
      body([1, one, one], [0, one, withId({ ...blockRow(0), ordinal: 1 })]),
      never(3, { ...blockRow(0), ordinal: 1 }),
    ],
    ['that are none', few(one, '{"$rowID":"x"}'), "request_validation_error: rows[1].$rowID: it is no row's ID"],
    ['that are no texts', few('{"$rowID":7}'), "request_validation_error: rows[0].$rowID: it is no row's ID"],
    [
      'that occur twice',
      few(withId(blockRow(0)), withId(blockRow(1)), one, withId(blockRow(1))),
      `request_validation_error: rows[3].$rowID: "${formatRowId(blockRow(1))}" occurs twice`,
    ],
    [
      'that occur twice in two blocks',
      body([1, withId(tailRow(1))], [0, withId(tailRow(0)), withId(tailRow(1))]),
      `request_validation_error: rows[2].$rowID: "${formatRowId(tailRow(1))}" occurs twice`,
    ],
    [
      'of which the first is wrong',
      few(withId(blockRow(2)), withId(blockRow(0)), withId(blockRow(0))),
      never(0, blockRow(2)),
    ],
    [
      'of which the first is a repeated one',
      few(withId(blockRow(0)), withId(blockRow(0)), withId(blockRow(2))),
      `request_validation_error: rows[1].$rowID: "${formatRowId(blockRow(0))}" occurs twice`,
    ],
  ])('%s are refused', (_name, rows, outcome) => {
    expect(shown(when(given({ block: two, tail: two }), overwrite(rows)))).toBe(outcome);
  });

  test('row IDs of deleted rows are kept, and added rows ignore IDs', () => {
    const state = given({ block: two });
    when(state, remove(blockRow(0)));
    expect(shown(when(state, overwrite(few(withId(blockRow(0))))))).toContain('retains');
    expect(shown(when(given(), add(few(withId(blockRow(9))))))).toContain('extent 100 1 by 10 plain | rows');
  });

  test('name the row from then on; its place has none, and other earlier IDs are gone', () => {
    const state = given({ block: two });
    when(state, overwrite(few(withId(blockRow(1)), '{"a":9}')));
    const place = (index: number): RowAddress => ({ version: 100n, ordinal: 0, index });
    const next = { ...here, version: 101n };
    expect(shown(when(state, patch(blockRow(1), '{"b":"x"}'), next), next)).toContain('row 100[0] {"a":1,"b":"x"}');
    expect(shown(when(state, patch(place(0), '{"a":3}'), next), next)).toBe('row_not_found: there is no such row');
    expect(shown(when(state, patch(place(1), '{"a":3}'), next), next)).toContain('row 100[1] {"a":3}');
    expect(shown(when(state, patch(blockRow(0), '{"a":3}'), next), next)).toBe('row_not_found: there is no such row');
    expect(shown(when(state, remove(blockRow(1)), next), next)).toContain('row 100[0] deleted');
  });

  test('are kept again, whether they were kept before or issued since; the ID of a place that no row was given is not', () => {
    const state = given({ block: two });
    when(state, overwrite(few(withId(blockRow(1)), '{"a":9}')));
    const place = (index: number): RowAddress => ({ version: 100n, ordinal: 0, index });
    const next = { ...here, version: 101n };
    expect(shown(when(state, overwrite(few(withId(place(1)), withId(place(0)))), next), next)).toBe(never(1, place(0)));
    expect(shown(when(state, overwrite(few(withId(place(1)), withId(blockRow(1)))), next), next)).toContain('retains');
    const last = { ...here, version: 102n };
    expect(shown(when(state, patch(blockRow(1), '{"a":4}'), last), last)).toContain('row 101[1] {"a":4}');
    expect(shown(when(state, patch(place(1), '{"a":5}'), last), last)).toContain('row 101[0] {"a":5}');
  });
});
