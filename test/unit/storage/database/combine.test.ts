import { describe, expect, test } from '@jest/globals';

import { bind, combine, isGuardFailure } from '../../../../src/storage/database/combine.ts';

const move = bind({ name: 'test_move', text: 'update p set next = $2 where id = $1 returning id' }, [7, 8n]);
const insert = bind({ name: 'test_insert', text: 'insert into t select $1, $3, $2, $1' }, ['a', 'b', 'c']);
const constant = bind({ name: 'test_constant', text: 'delete from u' }, []);
const wide = bind(
  { name: 'test_wide', text: `select ${Array.from({ length: 12 }, (_, at) => `$${at + 1}`).join(' ')}` },
  Array.from({ length: 12 }, (_, at) => at),
);

describe('combined statements', () => {
  test.each([
    ['one stays what it is', [insert], 0, insert.statement.text],
    [
      'parameters are numbered through',
      [move, insert, move],
      0,
      'with part_1 as (update p set next = $2 where id = $1 returning id),' +
        ' part_2 as (insert into t select $3, $5, $4, $3),' +
        ' part_3 as (update p set next = $7 where id = $6 returning id) select ',
    ],
    [
      'also beyond nine',
      [insert, wide],
      0,
      'with part_1 as (insert into t select $1, $3, $2, $1),' +
        ' part_2 as (select $4 $5 $6 $7 $8 $9 $10 $11 $12 $13 $14 $15) select ',
    ],
    [
      'a part may have none',
      [constant, insert],
      0,
      'with part_1 as (delete from u), part_2 as (insert into t select $1, $3, $2, $1) select ',
    ],
    [
      'the first are guards',
      [move, constant],
      1,
      'with part_1 as (update p set next = $2 where id = $1 returning id), part_2 as (delete from u)' +
        ' select 1 / (select count(*) from part_1)',
    ],
    [
      'one can be a guard',
      [move],
      1,
      'with part_1 as (update p set next = $2 where id = $1 returning id) select 1 / (select count(*) from part_1)',
    ],
    [
      'all can be guards',
      [move, move],
      2,
      'with part_1 as (update p set next = $2 where id = $1 returning id),' +
        ' part_2 as (update p set next = $4 where id = $3 returning id)' +
        ' select 1 / (select count(*) from part_1, part_2)',
    ],
  ])('statements are combined: %s', (_name, parts, guards, text) => {
    const { statement, values } = combine(parts, guards);
    expect(statement.text).toBe(text);
    expect(values).toEqual(parts.flatMap((part) => part.values));
  });

  test('are the same statement each time, for any parameters', () => {
    const again = bind(insert.statement, ['x', 'y', 'z']);
    const { statement, values } = combine([move, again]);
    expect(statement).toBe(combine([move, insert]).statement);
    expect(values).toEqual([7, 8n, 'x', 'y', 'z']);
  });

  test('have names that depend on their parts, the order of the parts, and guards', () => {
    const all = [
      combine([move, insert]),
      combine([insert, move]),
      combine([move, insert], 1),
      combine([move, insert], 2),
    ];
    expect(new Set(all.map(({ statement }) => statement.name)).size).toBe(all.length);
  });
});

test.each([
  [{ code: '22012' }, true],
  [{ code: '23505' }, false],
  [new Error('connection lost'), false],
])('%j is a failed guard: %s', (error, expected) => expect(isGuardFailure(error)).toBe(expected));

test('only a limited number of combined statements is prepared', () => {
  const names = Array.from({ length: 400 }, (_, at) => {
    return combine([move, bind({ name: `test_part_${at}`, text: `select ${at}` }, [])]).statement.name;
  });
  expect(new Set(names.filter((name) => name !== '')).size).toBe(names.filter((name) => name !== '').length);
  expect(names.at(-1)).toBe('');
  expect(names.filter((name) => name !== '').length).toBeLessThanOrEqual(300);
  expect(combine([move, insert]).statement.name).not.toBe('');
});
