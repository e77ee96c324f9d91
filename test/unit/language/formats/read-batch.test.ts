import { describe, expect, test } from '@jest/globals';
import { operationsMax, readBatch } from '../../../../src/language/formats/read-batch.ts';
import { bodiesOf, refusalOf } from './read-rows.ts';

const read = (text: string) => readBatch(Buffer.from(text));
const refusedAs = (act: () => object) => refusalOf(() => ({ refusal: null, ...act() }));
const rowsIn = (text: string): string[] => {
  const { block } = read(text);
  return block === null ? [] : bodiesOf({ blocks: [block] });
};

describe('the body of a batch', () => {
  test('has operations with their rows in order, whatever the order of their members', () => {
    const text = `\ufeff { "onSchemaError" : "abort", "operations": [ {"row":{"a":1,\n"b":null},"op":"add"},
      {"op":"delete","rowID":"r"},{"op":"patch","row":{"b":null,"a":2},"rowID":"s","ifMatch":"4"} ] } `;
    const { members, operations } = read(text);
    expect(members).toEqual({ onSchemaError: 'abort' });
    expect(operations).toEqual([
      { members: { row: {}, op: 'add' } },
      { members: { op: 'delete', rowID: 'r' } },
      { members: { op: 'patch', row: {}, rowID: 's', ifMatch: '4' } },
    ]);
    // Rows to add lose their nulls, and patches keep them.
    expect(rowsIn(text)).toEqual(['{"a":1}', '{"a":2,"b":null}']);
  });

  test('has a profile of all rows', () => {
    const { block } = read('{"operations":[{"op":"add","row":{"a":1}},{"op":"patch","row":{"a":"x","b":null}}]}');
    expect(block!.profile).toMatchObject({ rows: 2 });
    expect(block!.profile.columns.map(({ id, first }) => [id, first])).toEqual([
      ['a', { row: 0, position: 0 }],
      ['b', { row: 1, position: 1 }],
    ]);
  });

  test.each([
    ['{"$rowID":"r\\u0041","a":1}', { givenRowId: 'rA' }],
    ['{"$rowID":null}', { givenRowId: null }],
    ['{"a":1}', {}],
  ])('returns the row ID of %s', (row, expected) => {
    const { operations, block } = read(`{"operations":[{"op":"patch","row":${row}}]}`);
    expect(operations).toEqual([{ members: { op: 'patch', row: {} }, ...expected }]);
    expect(bodiesOf({ blocks: [block!] })[0]).not.toContain('$rowID');
  });

  test.each([
    ['before', '{"onSchemaError":"dropColumns","operations":[{"op":"add","row":{"a":"\\u0000","b":1}}]}'],
    ['after', '{"operations":[{"op":"add","row":{"a":"\\u0000","b":1}}],"onSchemaError":"dropColumns"}'],
  ])('drops cells that no row may hold if `dropColumns` comes %s the operations', (_where, text) => {
    expect(rowsIn(text)).toEqual(['{"b":1}']);
    expect(read(text).block!.profile.dropped).toBe(1);
  });

  test('does not drop cells if only another text contains `dropColumns`', () => {
    expect(rowsIn('{"operations":[{"op":"add","row":{"a":"dropColumns"}}]}')).toEqual(['{"a":"dropColumns"}']);
    expect(
      refusedAs(() => read('{"operations":[{"op":"add","row":{"a":"dropColumns","b":"\\u0000"}}]}'))?.message,
    ).toBe('operations[0].row.b: U+0000 cannot be stored');
  });

  test('does not validate other members', () => {
    expect(read('{"operations":{}}')).toEqual({ members: { operations: {} }, operations: null, block: null });
    expect(read('{"operations":[],"more":[1]}')).toEqual({ members: { more: [1] }, operations: [], block: null });
    expect(read('{"operations":[{"row":[]}]}').operations).toEqual([{ members: { row: [] } }]);
  });

  test.each([
    ['', 'the body is empty'],
    ['[]', 'the body must be an object'],
    ['{"operations":[{"op":"add"', 'operations[0]: the body stops before its JSON ends'],
    ['{"operations":[{},', 'operations[1]: the body stops before its JSON ends'],
    ['{"operations":[7]}', 'operations[0]: an operation must be an object'],
    ['{"operations":[{} {}]}', 'operations: broken JSON, unexpected "{"'],
    ['{"operations":[{},{"row":{"a":1,"a":2}}]}', 'operations[1].row.a: the key stands twice in its row'],
    ['{"operations":[{"row":{"my age":1e999}}]}', 'operations[0].row["my age"]: the number is too large to be stored'],
    ['{"operations":[{"op":1,"op":2}]}', 'operations[0]: "op" stands twice'],
    ['{"operations":[],"operations":[]}', '"operations" stands twice'],
    ['{}x', 'broken JSON, unexpected "x"'],
  ])('%j is refused', (text, message) => {
    expect(refusedAs(() => read(text))).toEqual({ type: 'request_validation_error', message });
  });

  test('is refused if it is not UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.of(0xff), Buffer.from('"}')]);
    expect(refusedAs(() => readBatch(bytes))?.message).toBe('the body is not valid UTF-8');
  });

  test('has limits', () => {
    const many = `{"operations":[${'{"op":"add"},'.repeat(operationsMax)}{}]}`;
    expect(refusedAs(() => read(many))).toEqual({
      type: 'limit_exceeded',
      message: 'operations: there may be at most 10000',
    });
    const row = (bytes: number): string => `{"op":"add","row":{"a":"${'x'.repeat(bytes)}"}}`;
    expect(refusedAs(() => read(`{"operations":[${row(300_000)}]}`))).toEqual({
      type: 'limit_exceeded',
      message: 'operations[0].row.a: a value must not be longer than 262144 bytes',
    });
    expect(
      refusedAs(() => read(`{"operations":[${Array.from({ length: 5 }, () => row(250_000)).join(',')}]}`)),
    ).toEqual({
      type: 'limit_exceeded',
      message: 'operations: their rows must not be longer than 1048576 bytes',
    });
  });
});
