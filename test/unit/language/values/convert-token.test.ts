import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { columnTypes, type ColumnType } from '../../../../src/language/values/column-type.ts';
import { convertToken, isSafe } from '../../../../src/language/values/convert-token.ts';
import { fitToken } from '../../../../src/language/values/fit-value.ts';
import { anyToken } from './rows.ts';

const anyType = fc.constantFrom(...columnTypes);

describe('a value under another type of its column', () => {
  test.each<[token: string, from: ColumnType, to: ColumnType, converted: string | undefined]>([
    ['"42"', 'string', 'number', '42'],
    ['" 4.20 "', 'string', 'number', '4.20'],
    ['".5"', 'string', 'number', '0.5'],
    ['"n/a"', 'string', 'number', undefined],
    ['""', 'string', 'number', undefined],
    ['""', 'string', 'uri', undefined],
    ['""', 'string', 'markdown', '""'],
    ['"9007199254740993"', 'string', 'number', undefined],
    ['"TRUE"', 'string', 'boolean', 'true'],
    ['"1"', 'string', 'boolean', undefined],
    ['"2024-02-29"', 'string', 'date', '"2024-02-29"'],
    ['"2023-02-29"', 'string', 'date', undefined],
    ['"2024-02-29"', 'dateTime', 'date', '"2024-02-29"'],
    ['"2024-02-29T00:00:00Z"', 'dateTime', 'date', undefined],
    ['20240229', 'number', 'date', undefined],
    ['1', 'number', 'boolean', undefined],
    ['true', 'boolean', 'number', undefined],
    ['1e3', 'number', 'markdown', '"1e3"'],
    ['"a:b"', 'uri', 'imageURI', '"a:b"'],
    ['[1]', 'array<number>', 'number', '1'],
    ['["1"]', 'array<string>', 'number', '1'],
    ['[1,2]', 'array<number>', 'number', undefined],
    ['[]', 'array<number>', 'number', undefined],
    ['[]', 'array<string>', 'array<number>', '[]'],
    ['["1", "2"]', 'array<string>', 'array<number>', '[1,2]'],
    ['["1", "x"]', 'array<string>', 'array<number>', undefined],
    ['"[1, 2]"', 'string', 'array<number>', '[1, 2]'],
    ['"1"', 'string', 'array<number>', '[1]'],
    ['"[1"', 'string', 'array<number>', undefined],
    ['42', 'json', 'string', '"42"'],
    ['"42"', 'json', 'number', '42'],
    ['{"a":1}', 'json', 'string', undefined],
    ['{"a":1}', 'json', 'array<json>', '[{"a":1}]'],
    ['[1,null]', 'json', 'array<json>', undefined],
    ['[[1]]', 'json', 'array<number>', undefined],
    ['42', 'number', 'string', '"42"'],
    ['42', 'number', 'array<string>', '["42"]'],
  ])('%s as %s is read as %s: %s', (token, from, to, converted) =>
    expect(convertToken(token, from, to)).toBe(converted),
  );

  test('is a valid value of the new type if it fits, and always fits a safe type', () => {
    let fitting = 0;
    fc.assert(
      fc.property(anyToken, anyType, anyType, (token, from, to) => {
        const presented = fitToken(token, from, false);
        fc.pre(presented !== undefined);
        const converted = convertToken(presented, from, to);
        if (isSafe(from, to)) expect(converted).toBeDefined();
        if (converted === undefined) return;
        fitting += 1;
        expect(fitToken(converted, to, false)).toBe(converted);
      }),
      { numRuns: 5000 },
    );
    expect(fitting).toBeGreaterThan(0);
  });
});
