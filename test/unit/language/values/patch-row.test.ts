import { describe, expect, test } from '@jest/globals';
import { applyPatch, sameCell } from '../../../../src/language/values/patch-row.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import { currentRule } from '../../../../src/language/values/rule.ts';
import { schemaOf } from '../../../../src/language/values/table-schema.ts';

const schema = schemaOf(
  [
    { id: 'n', type: 'number' },
    { id: 's', type: 'string' },
    { id: 'l', type: 'array<number>' },
    { id: 'j', type: 'json' },
    { id: '__proto__', type: 'string' },
  ],
  1n,
);

describe('a patch', () => {
  test.each<[patch: string, body: string]>([
    ['{"n":2}', '{"n":2,"s":"x"}'],
    ['{"s":4.20}', '{"n":1,"s":"4.20"}'],
    ['{"l":[1],"n":null}', '{"s":"x","l":[1]}'],
    ['{"j":{"a":1}}', '{"n":1,"s":"x","j":{"a":1}}'],
    ['{"__proto__":"y","l":[]}', '{"n":1,"s":"x","l":[],"__proto__":"y"}'],
    ['{"n":null,"s":null}', '{}'],
    ['{"n":"dropped","s":"y","unknown":1}', '{"n":1,"s":"y"}'],
  ])('the patch %s gives the row %s', (patch, body) => {
    expect(applyPatch('{"n":1,"s":"x"}', parseRow(patch), schema, false, currentRule)).toEqual({ body, changed: true });
  });

  test.each([
    '{}',
    '{"n":1}',
    '{"n":1.0}',
    '{"n":10e-1}',
    '{"s":"x"}',
    '{"s":"\\u0078"}',
    '{"l":null}',
    '{"n":"dropped"}',
    '{"unknown":1}',
    '{"l":1}',
  ])('%s changes nothing', (patch) => {
    expect(applyPatch('{"n":1,"s":"x"}', parseRow(patch), schema, false, currentRule)).toEqual({
      body: '{"n":1,"s":"x"}',
      changed: false,
    });
  });

  test('wraps a value that fits the items of an array column, if that is requested', () => {
    expect(applyPatch('{}', parseRow('{"l":1}'), schema, true, currentRule)).toEqual({
      body: '{"l":[1]}',
      changed: true,
    });
    expect(applyPatch('{"l":[1]}', parseRow('{"l":1.0}'), schema, true, currentRule)).toEqual({
      body: '{"l":[1]}',
      changed: false,
    });
  });
});

test.each<[a: string, b: string, same: boolean]>([
  ['1', '1', true],
  ['1', '1.0', true],
  ['0', '-0', true],
  ['1', '"1"', false],
  ['"1"', '1', false],
  ['"a"', '"\\u0061"', true],
  ['"a"', '"b"', false],
  ['true', 'false', false],
  ['[1,2]', '[1.0, 2]', true],
  ['[1,2]', '[2,1]', false],
  ['[1]', '[1,2]', false],
  ['[]', '{}', false],
  ['{"a":1,"b":[{"c":"d"}]}', '{"b":[{"c":"\\u0064"}],"a":1e0}', true],
  ['{"a":1}', '{"b":1}', false],
  ['{"a":null}', '{}', false],
  ['{"a":null}', '{"a":{}}', false],
  ['{"__proto__":1}', '{"__proto__":2}', false],
  ['{"__proto__":1}', '{"a":1}', false],
  ['{"__proto__":{}}', '{"toString":{}}', false],
])('%s and %s are the same value: %s', (a, b, same) => {
  expect(sameCell(a, b)).toBe(same);
  expect(sameCell(b, a)).toBe(same);
});
