import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import type { Cell } from '../../../../src/language/values/row-text.ts';
import { formatRow } from './rows.ts';

describe('a row body', () => {
  test.each<[body: string, cells: Cell[]]>([
    ['{}', []],
    ['{ }', []],
    ['{"a":1}', [{ id: 'a', token: '1' }]],
    [
      '{"b":4.20,"10":true,"__proto__":"x"}',
      [
        { id: 'b', token: '4.20' },
        { id: '10', token: 'true' },
        { id: '__proto__', token: '"x"' },
      ],
    ],
    [
      '{ "a" : [ 1, "]" ] , "b" : {"}":[{}]} }',
      [
        { id: 'a', token: '[ 1, "]" ]' },
        { id: 'b', token: '{"}":[{}]}' },
      ],
    ],
    [
      '{"\\u0061\\"":"\\\\","b":"\\"}"}',
      [
        { id: 'a"', token: '"\\\\"' },
        { id: 'b', token: '"\\"}"' },
      ],
    ],
  ])('the row body %s has its cells', (body, cells) => expect(parseRow(body)).toEqual(cells));

  test('is split where JSON.parse splits it, and joined again', () => {
    const key = fc.string({ unit: 'grapheme' });
    const cells = fc.uniqueArray(fc.tuple(key, fc.json({ maxDepth: 3 })), { selector: ([id]) => id });
    fc.assert(
      fc.property(cells, (pairs) => {
        const row = pairs.map(([id, token]): Cell => ({ id, token }));
        expect(parseRow(formatRow(row))).toEqual(row);
        const value = JSON.parse(formatRow(row)) as object;
        expect(Object.keys(value).sort()).toEqual(row.map(({ id }) => id).sort());
      }),
      { numRuns: 1000 },
    );
  });
});
