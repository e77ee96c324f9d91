import { describe, expect, test } from '@jest/globals';
import { RowsStatement } from '../../../../src/storage/database/rows-statement.ts';

interface Thing {
  readonly id: string;
  readonly body: string;
  readonly itsSize: bigint | null;
  readonly name: string | null;
}

const statement = new RowsStatement<Thing>(
  'test_things',
  { id: 'uuid', body: 'lines', itsSize: 'int8', name: 'text' },
  (rows) => `select * from ${rows('given')}`,
);

const one: Thing = { id: 'a1', itsSize: 5n, name: 'with "quotes", \\ and {', body: '{"a":"b"}' };
const other: Thing = { id: 'b2', itsSize: null, name: null, body: '' };

describe('a statement over rows of parameters', () => {
  test('has a parameter for each value of a single row', () => {
    const bound = statement.bind([one]);
    expect(bound.statement).toEqual({
      name: 'test_things_1',
      text: 'select * from (values ($1::uuid, $2::int8, $3::text, $4::text)) as given(id, its_size, name, body)',
    });
    expect(bound.values).toEqual(['a1', 5n, one.name, '{"a":"b"}']);
    expect(statement.bind([other]).values).toEqual(['b2', null, null, '']);
  });

  test('has a parameter for each column of many rows', () => {
    const bound = statement.bind([one, other]);
    expect(bound.statement).toEqual({
      name: 'test_things',
      text:
        'select * from rows from (unnest($1::uuid[], $2::int8[], $3::text[]), ' +
        "string_to_table($4, E'\\n')) as given(id, its_size, name, body)",
    });
    expect(bound.values).toEqual(['{a1,b2}', '{5,NULL}', [one.name, null], '{"a":"b"}\n']);
  });

  test('is the same each time', () => {
    expect(statement.bind([one]).statement).toBe(statement.bind([other]).statement);
    expect(statement.bind([one, one]).statement).toBe(statement.bind([one, other, one]).statement);
  });
});
