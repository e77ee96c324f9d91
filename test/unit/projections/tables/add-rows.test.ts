/** Adding rows (spec 4.12): what becomes of a table with the columns `a:number b:string`, at version 100. */
import { describe, expect, test } from '@jest/globals';

import { given, here, when } from '../../../support/decisions.ts';
import { add, block, body, few, noRows, ofFirstRule, stash } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Given } from '../../../support/decisions.ts';
import type { Asked, Rows } from '../../../support/requests.ts';

type Case = readonly [name: string, state: Given, rows: Rows, asked: Asked, outcome: string];

const one = '{"a":1}';

function check(_name: string, state: Given, rows: Rows, asked: Asked, outcome: string): void {
  expect(shown(when(given(state), add(rows, asked)))).toBe(outcome);
}

describe('a few rows', () => {
  test.each<Case>([
    [
      'open a tail',
      {},
      few(one, '{"b":"x"}'),
      {},
      'ok 100 | table 2 open | extent 100 2 by 10 plain | rows 100[0] {"a":1} {"b":"x"} | team 2',
    ],
    [
      'join the open tail',
      { tail: [one] },
      few('{"a":2}'),
      {},
      'ok 100 | table 2 open | extent 30 2 by 10 plain | rows 30[1] {"a":2} | team 2',
    ],
    [
      'are stored as they are presented',
      {},
      few('{"b":4.20,"a":1}'),
      {},
      'ok 100 | table 1 open | extent 100 1 by 10 plain | rows 100[0] {"a":1,"b":"4.20"} | team 1',
    ],
    ['may be empty', {}, few('{}'), {}, 'ok 100 | table 1 open | extent 100 1 by 10 plain | rows 100[0] {} | team 1'],
    [
      'leave out what is null',
      {},
      few('{"a":null,"b":"x"}'),
      {},
      'ok 100 | table 1 open | extent 100 1 by 10 plain | rows 100[0] {"b":"x"} | team 1',
    ],
  ])('a few rows %s', check);
});

describe('blocks', () => {
  test.each<Case>([
    ['become an extent', {}, block(one), {}, 'ok 100 | table 1 | extent 100 1 by 10 plain | team 1'],
    [
      'in the order of the schema are plain',
      {},
      block('{"a":1,"b":"x"}'),
      {},
      'ok 100 | table 1 | extent 100 1 by 10 plain | team 1',
    ],
    [
      'in another order are converted',
      {},
      block('{"b":"x","a":1}'),
      {},
      'ok 100 | table 1 | extent 100 1 by 10 | team 1',
    ],
    [
      'with a number for a string are converted',
      {},
      block('{"b":1}'),
      {},
      'ok 100 | table 1 | extent 100 1 by 10 | team 1',
    ],
    [
      'of one body become an extent each',
      {},
      body([0, one, one], [0, one]),
      {},
      'ok 100 | table 3 | extent 100 2 by 10 plain | extent 100.1 1 by 10 plain | team 3',
    ],
    [
      'wait an hour',
      {},
      body([3_600_000, one], [0, one]),
      {},
      'ok 100 | table 2 | extent 100 1 by 10 plain | extent 100.1 1 by 10 plain | team 2',
    ],
    [
      'wait no longer',
      {},
      body([3_600_001, one], [0, one]),
      {},
      'request_validation_error: the body took longer than an hour to arrive; send it again',
    ],
    [
      'of one body are counted through',
      {},
      body([0, one, one], [0, one, '{"a":true}']),
      {},
      "column_has_invalid_value: rows[3].a: true does not fit the column's type number",
    ],
    [
      'of one body share its schema',
      {},
      body([0, '{"c":1}'], [0, '{"c":"x"}']),
      { mode: 'updateSchema' },
      'ok 100 | table 2 new schema | schema a:number b:string c:string' +
        ' | extent 100 1 by 100 wrap | extent 100.1 1 by 100 plain wrap | team 2',
    ],
  ])('blocks of rows %s', check);

  test('give their rows IDs, block by block', () => {
    expect(when(given({ tail: [one] }), add(body([0, one, one], [0, one]))).outcome).toMatchObject({
      result: {
        rows: [
          { version: 100n, ordinal: 0, first: 0, count: 2 },
          { version: 100n, ordinal: 1, first: 0, count: 1 },
        ],
      },
    });
  });

  const lost = 'request_validation_error: the body took longer than an hour to arrive; send it again';

  test('are refused if one has not arrived', () => {
    const request = add(body([0, one], [0, one]));
    expect(shown(when(given(), { ...request, before: request.before!.slice(0, 1) }))).toBe(lost);
  });

  test('are refused if one belongs to another team', () => {
    const request = add(body([0, one], [0, one]));
    const [first, second] = request.before!;
    expect(shown(when(given(), { ...request, before: [first!, { ...second!, teamId: 'another' }] }))).toBe(lost);
  });

  test('are used in their order, in whatever order they arrived', () => {
    const state = given();
    const profile = add(block(one)).data;
    if (profile.type !== 'RowsAddRequested' || profile.rows.kind !== 'block') throw new Error('not a block');
    for (const number of [2, 0, 1]) {
      state.segments.putBodyBlock({
        bodyId: 'body',
        number,
        teamId: 'team',
        segment: BigInt(number),
        profile: profile.rows.profile,
        ids: null,
        time: here.time,
      });
    }
    const { changes } = when(state, add({ source: { kind: 'body', bodyId: 'body', blocks: 3 } }));
    expect(
      changes.flatMap((change) => (change.kind === 'extent' ? [[change.extent.ordinal, change.extent.segment]] : [])),
    ).toEqual([
      [0, 0n],
      [1, 1n],
      [2, 2n],
    ]);
  });
});

describe('the schema', () => {
  const dropped = 'ok 100 | table 1 open | extent 100 1 by 10 plain';
  const dates: Given = { schema: 'a:date b:array<number>' };

  test.each<Case>([
    [
      'refuses an unknown column',
      {},
      few('{"c":1}'),
      {},
      'column_id_not_found: rows[0].c: the table has no column "c"',
    ],
    ['also of a null', {}, few(one, '{"c":null}'), {}, 'column_id_not_found: rows[1].c: the table has no column "c"'],
    [
      'refuses `$stashID` as a column',
      {},
      few('{"$stashID":"s"}'),
      {},
      'column_id_reserved: rows[0].$stashID: the column ID "$stashID" is reserved',
    ],
    ['has no say about `$rowID`', {}, few('{"$rowID":"r","a":1}'), {}, `${dropped} | rows 100[0] {"a":1} | team 1`],
    [
      'refuses the first wrong cell by row, then by place',
      {},
      few(one, '{"b":[],"a":"x"}', '{"a":"y"}'),
      {},
      "column_has_invalid_value: rows[1].b: [] does not fit the column's type string",
    ],
    [
      'drops a wrong cell',
      {},
      few('{"a":"x","b":"y"}'),
      { mode: 'dropColumns' },
      `${dropped} | rows 100[0] {"b":"y"} | team 1`,
    ],
    [
      'drops an unknown cell',
      {},
      few('{"a":1,"c":2}'),
      { mode: 'dropColumns' },
      `${dropped} | rows 100[0] {"a":1} | team 1`,
    ],
    [
      'drops cells of a block when it is read',
      {},
      block('{"a":"x"}'),
      { mode: 'dropColumns' },
      'ok 100 | table 1 | extent 100 1 by 10 | team 1',
    ],
    [
      'takes new columns in order of appearance',
      {},
      few('{"d":1}', '{"c":true,"e":null}'),
      { mode: 'updateSchema' },
      'ok 100 | table 2 new schema open | schema a:number b:string d:number c:boolean e:string' +
        ' | extent 100 2 by 100 plain | rows 100[0] {"d":1} {"c":true} | team 2',
    ],
    [
      'widens',
      { schema: 'a:number' },
      few('{"a":"x"}', '{"a":42}'),
      { mode: 'updateSchema' },
      'ok 100 | table 2 new schema widened open | schema a:string' +
        ' | extent 100 2 by 100 plain | rows 100[0] {"a":"x"} {"a":"42"} | team 2',
    ],
    [
      'widens a date',
      dates,
      few('{"a":"2024-02-29T10:00:00Z"}'),
      { mode: 'updateSchema' },
      'ok 100 | table 1 new schema widened open | schema a:dateTime b:array<number>' +
        ' | extent 100 1 by 100 plain | rows 100[0] {"a":"2024-02-29T10:00:00Z"} | team 1',
    ],
    [
      'refuses a scalar for an array',
      dates,
      few('{"b":1}'),
      {},
      "column_has_invalid_value: rows[0].b: 1 does not fit the column's type array<number>",
    ],
    [
      'drops a scalar for an array',
      dates,
      few('{"b":1}'),
      { mode: 'dropColumns' },
      `${dropped} | rows 100[0] {} | team 1`,
    ],
    [
      'takes a moment with a blank',
      { schema: 'a:dateTime b:number' },
      few('{"a":"2024-03-01 10:00","b":1}'),
      { mode: 'dropColumns' },
      `${dropped} | rows 100[0] {"a":"2024-03-01 10:00","b":1} | team 1`,
    ],
    [
      'still drops one that came when none fitted',
      { schema: 'a:dateTime b:number' },
      ofFirstRule(few('{"a":"2024-03-01 10:00","b":1}')),
      { mode: 'dropColumns' },
      `${dropped} | rows 100[0] {"b":1} | team 1`,
    ],
    [
      'wraps a scalar where it may be updated',
      dates,
      few('{"b":1}'),
      { mode: 'updateSchema' },
      `${dropped} | rows 100[0] {"b":[1]} | team 1`,
    ],
    [
      'wraps scalars of a block when it is read',
      dates,
      block('{"b":1}'),
      { mode: 'updateSchema' },
      'ok 100 | table 1 | extent 100 1 by 10 wrap | team 1',
    ],
    [
      'takes no more columns than are allowed',
      {},
      few('{"c":1,"d":1,"e":1,"f":1}'),
      { mode: 'updateSchema' },
      'limit_exceeded: the table would have 6 columns; at most 5 are allowed',
    ],
    [
      'refuses an integer that a double cannot hold',
      { schema: 'a:number' },
      few('{"a":9007199254740993}'),
      {},
      "column_has_invalid_value: rows[0].a: 9007199254740993 does not fit the column's type number: a 64-bit" +
        ' floating-point number cannot hold it exactly',
    ],
  ])('the schema %s', check);
});

describe('no rows', () => {
  test.each<Case>([
    ['move nothing', { block: [one] }, noRows, {}, 'ok 50'],
    ['of an array neither', {}, few(), {}, 'ok 50'],
    ['need no room', { otherRows: 5, rowsMax: 1 }, noRows, { rowsPerTableMax: 0 }, 'ok 50'],
    [
      'still need the table as it was',
      {},
      noRows,
      { ifMatch: 49n },
      'precondition_failed: the table has changed: its version is 50, not 49 or older',
    ],
    ['still need the table', { owner: 'nobody' }, noRows, {}, 'table_not_found: there is no such table'],
  ])('no rows %s', check);
});

describe('If-Match, limits and plans', () => {
  const added = 'ok 100 | table 2 | extent 100 1 by 10 plain';
  const before: Given = { block: [one] };

  test.each<Case>([
    ['the version of now matches', before, block(one), { ifMatch: 50n }, `${added} | team 2`],
    ['a later one too: not changed since then', before, block(one), { ifMatch: 51n }, `${added} | team 2`],
    ['the table may be full', before, block(one), { rowsPerTableMax: 2 }, `${added} | team 2`],
    [
      'and no more',
      before,
      block(one, one),
      { rowsPerTableMax: 2 },
      'limit_exceeded: the table would hold more than 2 rows',
    ],
    ['the plan may be full', { ...before, otherRows: 7, rowsMax: 9 }, block(one), {}, `${added} | team 9`],
    [
      'and no more',
      { ...before, otherRows: 8, rowsMax: 9 },
      block(one),
      {},
      "payment_required: the team's plan allows 9 rows and 9 are in use",
    ],
    [
      'a plan may be less than what is in use',
      { ...before, otherRows: 8, rowsMax: 3 },
      block(one),
      {},
      "payment_required: the team's plan allows 3 rows and 9 are in use",
    ],
    ['an unknown stash', {}, stash, {}, 'stash_not_found: there is no stash stash'],
  ])('an add is judged: %s', check);

  test('a refusal changes nothing', () => {
    const { changes } = when(given(before), add(few(one, '{"a":"x"}')));
    expect(changes).toEqual([]);
  });

  test('the table records its longest row', () => {
    const state = given();
    when(state, add(block('{"b":"0123456789"}')));
    when(state, add(block(one)));
    expect(state.tables.table('table')!.rowBytesMax).toBe('{"b":"0123456789"}'.length);
  });
});
