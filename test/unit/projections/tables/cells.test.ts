/**
 * Rows of CSV: what becomes of them at version 100, in a table with the columns `a:number b:string` and in a new one.
 */
import { describe, expect, test } from '@jest/globals';
import { given, when } from '../../../support/decisions.ts';
import { add, body, cellBlock, cells, create } from '../../../support/requests.ts';
import { shown } from '../../../support/shown-decisions.ts';
import type { Asked, Rows } from '../../../support/requests.ts';

describe('added', () => {
  test.each<[name: string, rows: Rows, asked: Asked, outcome: string]>([
    [
      'few are stored as they are presented',
      cells('b,a\n4.20, 5\n007,6\n'),
      {},
      'ok 100 | table 2 open | extent 100 2 by 10 plain | rows 100[0] {"a":5,"b":"4.20"} {"a":6,"b":"007"} | team 2',
    ],
    [
      'blocks of texts and numbers are plain',
      cellBlock('a,b\n5,x\n'),
      {},
      'ok 100 | table 1 | extent 100 1 by 10 plain | team 1',
    ],
    [
      'blocks with numbers for texts are converted',
      cellBlock('a,b\n5,6\n'),
      {},
      'ok 100 | table 1 | extent 100 1 by 10 | team 1',
    ],
    [
      'blocks with a blank before a number are converted',
      cellBlock('a,b\n 5,x\n'),
      {},
      'ok 100 | table 1 | extent 100 1 by 10 | team 1',
    ],
    [
      'a mismatch is refused',
      cells('a,b\n5,x\n007,y\n'),
      {},
      'column_has_invalid_value: rows[1].a: "007" does not fit the column\'s type number',
    ],
    [
      'an unknown column is refused',
      cells('a,c\n5,\n'),
      {},
      'column_id_not_found: rows[0].c: the table has no column "c"',
    ],
    ['also over no rows', cells('a,c\n'), {}, 'column_id_not_found: rows[0].c: the table has no column "c"'],
    ['a header of known columns moves nothing', cells('b,a\n'), {}, 'ok 50'],
    ['nor do columns that are dropped', cells('a,c\n'), { mode: 'dropColumns' }, 'ok 50'],
    ['nor columns that would be new', cells('a,c\n'), { mode: 'updateSchema' }, 'ok 50'],
    [
      'cells are dropped',
      cells('a,c,b\nx,y,z\n'),
      { mode: 'dropColumns' },
      'ok 100 | table 1 open | extent 100 1 by 10 plain | rows 100[0] {"b":"z"} | team 1',
    ],
    [
      'columns are widened and appended',
      cells('a,c\nTRUE,2024-02-29\n'),
      { mode: 'updateSchema' },
      'ok 100 | table 1 new schema widened open | schema a:string b:string c:date' +
        ' | extent 100 1 by 100 plain | rows 100[0] {"a":"TRUE","c":"2024-02-29"} | team 1',
    ],
  ])('rows are added: %s', (_name, rows, asked, outcome) =>
    expect(shown(when(given({}), add(rows, asked)))).toBe(outcome),
  );

  test('to a column of arrays: arrays fit, and under updateSchema values that can be wrapped', () => {
    const csv = 'a\n"[1, 2]"\n3\n';
    expect(shown(when(given({ schema: 'a:array<number>' }), add(cells(csv))))).toBe(
      'column_has_invalid_value: rows[1].a: "3" does not fit the column\'s type array<number>',
    );
    expect(shown(when(given({ schema: 'a:array<number>' }), add(cells(csv), { mode: 'updateSchema' })))).toBe(
      'ok 100 | table 2 open | extent 100 2 by 10 plain | rows 100[0] {"a":[1, 2]} {"a":[3]} | team 2',
    );
  });

  test('to a column of JSON: it cannot be widened for values that are no JSON', () => {
    const state = { schema: 'a:json' };
    const refused = 'column_has_invalid_value: rows[1].a: "x" does not fit the column\'s type json';
    for (const mode of ['abort', 'updateSchema'] as const) {
      expect(shown(when(given(state), add(cells('a\n{}\nx\n'), { mode })))).toBe(refused);
    }
    expect(shown(when(given(state), add(cells('a\n"{""b"": [1,\n2]}"\nnull\nx\n'), { mode: 'dropColumns' })))).toBe(
      'ok 100 | table 3 open | extent 100 3 by 10 plain | rows 100[0] {"a":{"b":[1,2]}} {} {} | team 3',
    );
  });

  test('an integer that no double holds does not fit numbers, and is text elsewhere', () => {
    const big = '9007199254740993';
    expect(shown(when(given({}), add(cells(`a\n${big}\n`))))).toBe(
      `column_has_invalid_value: rows[0].a: "${big}" does not fit the column's type number`,
    );
    expect(shown(when(given({}), add(cells(`b\n${big}\n`))))).toContain(`{"b":"${big}"}`);
    expect(shown(when(given({}), add(cells(`a\n${big}\n`), { mode: 'updateSchema' })))).toContain('schema a:string');
  });
});

describe('created', () => {
  test.each<[name: string, rows: Rows, outcome: string]>([
    [
      'each column has its natural type',
      cells('n,b,d,t,s,e\n1,TRUE,2024-02-29,2024-02-29T10:00,007,\n,,,,,\n'),
      'ok 100 | table 2 new schema open | schema n:number b:boolean d:date t:dateTime s:string e:string' +
        ' | extent 100 2 by 100 plain | rows 100[0] {"n":1,"b":true,"d":"2024-02-29","t":"2024-02-29T10:00","s":"007"} {} | team 2',
    ],
    [
      'arrays and objects are texts',
      cells('a,b\n[1],{}\n'),
      'ok 100 | table 1 new schema open | schema a:string b:string' +
        ' | extent 100 1 by 100 plain | rows 100[0] {"a":"[1]","b":"{}"} | team 1',
    ],
    ['a header alone makes columns', cells('a,$rowID,b\n'), 'ok 100 | table 0 new schema | schema a:string b:string'],
    [
      'they are counted',
      cells('a,b,c,d,e,f,g\n'),
      'limit_exceeded: the table would have 7 columns; at most 6 are allowed',
    ],
    [
      'blocks are plain',
      cellBlock('n,s\n1,x\n2.50,007\n'),
      'ok 100 | table 2 new schema | schema n:number s:string | extent 100 2 by 100 plain wrap | team 2',
    ],
  ])('a table is created: %s', (_name, rows, outcome) =>
    expect(shown(when(given({}), create(rows, { columnsMax: 6 })))).toBe(outcome),
  );

  test('a value that fits neither CSV nor JSON is refused in both', () => {
    const csv = cellBlock('a\nx\n').source;
    const json = body([0, '{"a":{}}']);
    const before = [
      ...json.before!,
      { profile: 'profile' in csv ? csv.profile : json.before![0]!.profile, age: 0, ids: null },
    ];
    const source = { kind: 'body', bodyId: 'body', blocks: 2 } as const;
    expect(shown(when(given({}), create({ source, before })))).toBe(
      'column_has_invalid_value: rows[1].a: "x" does not fit the column\'s type json',
    );
  });
});
