import { describe, expect, test } from '@jest/globals';

import { readPatchRow } from '../../../../src/language/formats/read-patch-row.ts';
import { bodiesOf, refusalOf } from './read-rows.ts';

describe('the row of a patch', () => {
  test.each([
    ['keeps its nulls', ' {"a": 1, "b": null} ', '{"a": 1, "b": null}'],
    ['also when it is rewritten', '{"a":1,\n"b":null}', '{"a":1,"b":null}'],
    ['holds the known columns first', '{"x":1,"b":null,"a":2}', '{"a":2,"b":null,"x":1}'],
    ['may be empty', '\ufeff{}', '{}'],
    ['has no $rowID', '{"$rowID":"r","a":1}', '{"a":1}'],
  ])('the row of a patch %s', (_name, text, body) => {
    const { block } = readPatchRow(Buffer.from(text), { columns: ['a', 'b'] });
    expect(bodiesOf({ blocks: [block] })).toEqual([body]);
    expect(block.profile).toMatchObject({ rows: 1, bytes: body.length, rowBytesMax: body.length });
  });

  test('is profiled, and a null counts only as an appearance', () => {
    const { block } = readPatchRow(Buffer.from('{"b":null,"a":1}'));
    expect(block.profile.columns).toMatchObject([
      { id: 'b', first: { row: 0, position: 0 }, natural: null, stored: 0, misfits: [] },
      { id: 'a', first: { row: 0, position: 1 }, natural: 'number', stored: 2 },
    ]);
  });

  test.each<[string, unknown]>([
    ['{"$rowID":"r\\u0041","a":1}', { rowId: 'rA' }],
    ['{"a":1,"$rowID":null}', { rowId: null }],
    ['{"a":1}', {}],
  ])('tells the row ID of %s', (text, expected) => {
    const { block: _block, ...rest } = readPatchRow(Buffer.from(text));
    expect(rest).toEqual({ refusal: null, ...(expected as object) });
  });

  test.each([
    ['', 'the body is empty'],
    [' \n', 'the body is empty'],
    ['\ufeff', 'the body is empty'],
    ['{"a":1', 'the body stops before its JSON ends'],
    ['[]', 'a row must be an object'],
    ['{"a":1}{', 'broken JSON, unexpected "{"'],
    ['{"a":1,"a":2}', 'a: the key stands twice in its row'],
    ['{"my age":1e999}', '"my age": the number is too large to be stored'],
  ])('%j is refused', (text, message) => {
    expect(refusalOf(() => readPatchRow(Buffer.from(text)))).toEqual({ type: 'request_validation_error', message });
  });

  test('is refused if it is not UTF-8', () => {
    expect(refusalOf(() => readPatchRow(Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])))?.message).toBe(
      'the body is not valid UTF-8',
    );
  });

  test.each<[string, object, string, string[]]>([
    [
      'a long cell, but is profiled',
      { 'a b': 'x'.repeat(300_000), 'c': 1 },
      '"a b": a value must not be longer than 262144 bytes',
      ['a b', 'c'],
    ],
    ['too many bytes', { c: 1, a: 'x'.repeat(600_000) }, 'a row must not be longer than 524288 bytes', []],
    [
      'too many columns',
      Object.fromEntries(Array.from({ length: 2_001 }, (_, n) => [`k${n}`, 1])),
      'more than 2000 different columns',
      [],
    ],
  ])('is refused if it has %s', (_name, row, message, columns) => {
    const { block, refusal } = readPatchRow(Buffer.from(JSON.stringify(row)));
    expect([refusal, block.profile.columns.map(({ id }) => id)]).toEqual([
      { type: 'limit_exceeded', message },
      columns,
    ]);
  });

  test('drops cells that no row may hold, if that is requested', () => {
    const { block } = readPatchRow(Buffer.from(`{"a":"\\u0000","b":null,"c":"${'x'.repeat(600_000)}","d":1}`), {
      dropsCells: true,
    });
    expect(bodiesOf({ blocks: [block] })).toEqual(['{"b":null,"d":1}']);
    expect(block.profile).toMatchObject({
      dropped: 2,
      columns: [
        { id: 'b', counts: [] },
        { id: 'd', counts: [[expect.any(Number), 1]] },
      ],
    });
  });
});
