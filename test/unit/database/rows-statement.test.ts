import { describe, expect, test } from '@jest/globals';
import { RowsStatement } from '../../../src/database/rows-statement.ts';

interface Thing {
  readonly id: string;
  readonly size: bigint | null;
  readonly name: string | null;
  readonly body: string;
}

const statement = new RowsStatement<Thing>(
  'test_things',
  [
    ['uuid', (thing) => thing.id], ['int8', (thing) => thing.size], ['text', (thing) => thing.name], ['int4', (_, at) => at],
    ['lines', (thing) => thing.body],
  ],
  (rows) => `select * from ${rows} as given(id, size, name, place, body)`,
);

const one: Thing = { id: 'a1', size: 5n, name: 'with "quotes", \\ and {', body: '{"a":"b"}' };
const other: Thing = { id: 'b2', size: null, name: null, body: '' };

describe('a statement over rows of parameters', () => {
  test('has a parameter for each value of a single row', () => {
    const bound = statement.bind([one]);
    expect(bound.statement).toEqual({
      name: 'test_things_1',
      text: 'select * from (values ($1::uuid, $2::int8, $3::text, $4::int4, $5::text)) as given(id, size, name, place, body)',
    });
    expect(bound.values).toEqual(['a1', 5n, one.name, 0, '{"a":"b"}']);
    expect(statement.bind([other]).values).toEqual(['b2', null, null, 0, '']);
  });

  test('has a parameter for each column of many rows', () => {
    const bound = statement.bind([one, other]);
    expect(bound.statement).toEqual({
      name: 'test_things',
      text: 'select * from rows from (unnest($1::uuid[], $2::int8[], $3::text[], $4::int4[]), '
        + "string_to_table($5, E'\\n')) as given(id, size, name, place, body)",
    });
    expect(bound.values).toEqual(['{a1,b2}', '{5,NULL}', [one.name, null], '{0,1}', '{"a":"b"}\n']);
  });

  test('is the same each time', () => {
    expect(statement.bind([one]).statement).toBe(statement.bind([other]).statement);
    expect(statement.bind([one, one]).statement).toBe(statement.bind([one, other, one]).statement);
  });
});
