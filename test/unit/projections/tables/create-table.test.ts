/** Creating a table (spec 4.2): what becomes of the request at version 100. */
import { describe, expect, test } from '@jest/globals';

import { given, when } from '../../../support/decisions.ts';
import { block, body, create, few, noRows, stash } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Given } from '../../../support/decisions.ts';
import type { AskedTable, Rows } from '../../../support/requests.ts';

type Case = readonly [name: string, state: Given, rows: Rows, asked: AskedTable, outcome: string];

const one = '{"a":1}';
const big = '9007199254740993';

function check(_name: string, state: Given, rows: Rows, asked: AskedTable, outcome: string): void {
  expect(shown(when(given(state), create(rows, asked)))).toBe(outcome);
}

describe('without a schema', () => {
  test.each<Case>([
    [
      'it is inferred',
      {},
      few('{"n":1,"d":"2024-02-29"}', '{"n":null,"t":[true]}'),
      {},
      'ok 100 | table 2 new schema open | schema n:number d:date t:array<boolean>' +
        ' | extent 100 2 by 100 plain | rows 100[0] {"n":1,"d":"2024-02-29"} {"t":[true]} | team 2',
    ],
    [
      'also over blocks',
      {},
      body([0, one], [0, '{"a":"x"}']),
      {},
      'ok 100 | table 2 new schema | schema a:string' +
        ' | extent 100 1 by 100 wrap | extent 100.1 1 by 100 plain wrap | team 2',
    ],
    ['no rows give no columns', {}, noRows, {}, 'ok 100 | table 0 new schema | schema'],
    [
      'a column without a value is a string',
      {},
      few('{"a":null}'),
      {},
      'ok 100 | table 1 new schema open | schema a:string | extent 100 1 by 100 plain | rows 100[0] {} | team 1',
    ],
    [
      'a scalar among arrays is wrapped',
      {},
      few('{"a":[1]}', '{"a":2}'),
      {},
      'ok 100 | table 2 new schema open | schema a:array<number>' +
        ' | extent 100 2 by 100 plain | rows 100[0] {"a":[1]} {"a":[2]} | team 2',
    ],
    [
      '`$stashID` is reserved',
      {},
      few('{"$stashID":1}'),
      {},
      'column_id_reserved: rows[0].$stashID: the column ID "$stashID" is reserved',
    ],
    [
      'an integer that a double cannot hold makes a column of texts',
      {},
      few('{"a":1.50}', `{"a":${big}}`),
      {},
      `ok 100 | table 2 new schema open | schema a:string | extent 100 2 by 100 plain | rows 100[0] {"a":"1.50"} {"a":"${big}"} | team 2`,
    ],
    [
      'columns are counted',
      {},
      few('{"a":1,"b":2}'),
      { columnsMax: 1 },
      'limit_exceeded: the table would have 2 columns; at most 1 are allowed',
    ],
    ['a stash must be there', {}, stash, {}, 'stash_not_found: there is no stash stash'],
  ])('a table is created without a schema: %s', check);
});

describe('with a schema', () => {
  const schema = 'a:number';
  const made = 'ok 100 | table 1 new schema open';

  test.each<Case>([
    [
      'rows must fit it',
      {},
      few(one),
      { schema },
      `${made} | schema a:number | extent 100 1 by 100 plain | rows 100[0] {"a":1} | team 1`,
    ],
    [
      'a wrong cell is refused',
      {},
      few('{"a":"x"}'),
      { schema },
      'column_has_invalid_value: rows[0].a: "x" does not fit the column\'s type number',
    ],
    [
      'a wrong cell is dropped',
      {},
      few('{"a":"x"}'),
      { schema, mode: 'dropColumns' },
      `${made} | schema a:number | extent 100 1 by 100 plain | rows 100[0] {} | team 1`,
    ],
    [
      'rows widen it, and nothing is older than that',
      {},
      few('{"a":"x"}', one),
      { schema, mode: 'updateSchema' },
      'ok 100 | table 2 new schema open | schema a:string' +
        ' | extent 100 2 by 100 plain | rows 100[0] {"a":"x"} {"a":"1"} | team 2',
    ],
    ['no rows are needed', {}, noRows, { schema }, 'ok 100 | table 0 new schema | schema a:number'],
    ['no columns are needed', {}, noRows, { schema: '' }, 'ok 100 | table 0 new schema | schema'],
    ['a stash that never was is no rows', {}, stash, { schema }, 'ok 100 | table 0 new schema | schema a:number'],
    [
      'column IDs are unique',
      {},
      noRows,
      { schema: 'a:number b:date a:string' },
      'column_id_not_unique: schema.columns[2].id: the column ID "a" occurs twice',
    ],
    [
      '`$stashID` is reserved',
      {},
      noRows,
      { schema: '$stashID:string' },
      'column_id_reserved: schema.columns[0].id: the column ID "$stashID" is reserved',
    ],
    [
      'columns are counted',
      {},
      noRows,
      { schema: 'a:number b:date', columnsMax: 1 },
      'limit_exceeded: the table would have 2 columns; at most 1 are allowed',
    ],
  ])('a table is created with a schema: %s', check);

  test('it is stored once, its widest types since the version of the table', () => {
    const state = given();
    when(state, create(block(one, '{"a":"x"}'), { schema, mode: 'updateSchema' }));
    const table = state.tables.table('made')!;
    expect(table).toMatchObject({ created: 100n, version: 100n, generation: 100n, schemaVersion: 100n, widened: 0n });
    expect(state.tables.schema(table).columns[0]!.types.at(-1)).toEqual({ since: 100n, type: 'string' });
    expect(state.tables.newSchemas).toHaveLength(1);
  });
});

describe('apps and plans', () => {
  test.each<Case>([
    [
      'apps are linked, each once',
      {},
      noRows,
      { apps: ['x', 'y', 'x'] },
      'ok 100 | table 0 new schema | apps x y | schema',
    ],
    [
      'a plan that is exceeded takes a table without rows',
      { otherRows: 2, rowsMax: 1 },
      noRows,
      {},
      'ok 100 | table 0 new schema | schema',
    ],
    [
      'a plan takes as many rows as it allows',
      { otherRows: 2, rowsMax: 3 },
      block(one),
      {},
      'ok 100 | table 1 new schema | schema a:number | extent 100 1 by 100 plain wrap | team 3',
    ],
    [
      'and no more',
      { otherRows: 2, rowsMax: 3 },
      block(one, one),
      {},
      "payment_required: the team's plan allows 3 rows and 2 are in use",
    ],
    [
      'a table takes as many rows as it may',
      {},
      block(one, one),
      { rowsPerTableMax: 1 },
      'limit_exceeded: the table would hold more than 1 rows',
    ],
  ])('a table is created: %s', check);

  test.each<[apps: string[] | undefined, linkedAppIds: string[] | undefined]>([
    [undefined, undefined],
    [[], undefined],
    [['x'], ['x']],
    [
      ['x', 'y', 'x'],
      ['x', 'y'],
    ],
  ])('asked for the apps %j, the answer names %j', (apps, linkedAppIds) => {
    const { outcome } = when(given(), create(few(one), apps ? { apps } : {}));
    expect(outcome).toEqual({
      status: 'applied',
      etag: 100n,
      result: {
        tableId: 'made',
        rows: [{ version: 100n, ordinal: 0, first: 0, count: 1 }],
        ...(linkedAppIds ? { linkedAppIds } : {}),
      },
    });
  });

  test('a table of an unknown team is a bug', () => {
    const request = create(noRows);
    const data = { ...request.data, teamId: 'unknown' } as typeof request.data;
    expect(() => when(given(), { data })).toThrow('unknown team');
  });
});
