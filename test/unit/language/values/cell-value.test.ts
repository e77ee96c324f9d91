/** Decisions 2 and 6: what cells of CSV and TSV fit, what they naturally are, and how columns present them. */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { classifyCell, fitCell } from '../../../../src/language/values/cell-value.ts';
import {
  allTypes,
  arrayTypes,
  columnTypes,
  isArrayType,
  itemKind,
  scalarKinds,
  typeBit,
  typeSet,
} from '../../../../src/language/values/column-type.ts';
import type { ColumnType } from '../../../../src/language/values/column-type.ts';
import { fitToken } from '../../../../src/language/values/fit-value.ts';
import { storedAs } from '../../../../src/language/values/profile.ts';
import { plainCells } from '../../../../src/language/values/rule.ts';
import { stringLikeTypes } from '../../../../src/language/values/string-types.ts';
import { values } from '../../../support/type-samples.ts';
import { cellText } from './cell-texts.ts';

const fitsType = (text: string, type: ColumnType): boolean =>
  (classifyCell(text, allTypes, plainCells).fits & typeBit(type)) !== 0;

describe('a cell in a column of a type', () => {
  test.each<[text: string, type: ColumnType, presented: string | undefined]>([
    ['4.20', 'string', '"4.20"'],
    ['007', 'string', '"007"'],
    [' a"b\\\n ', 'markdown', '" a\\"b\\\\\\n "'],
    ['12345678901234567890', 'string', '"12345678901234567890"'],
    ['1e400', 'string', '"1e400"'],
    ['null', 'string', '"null"'],
    ['TRUE', 'string', '"TRUE"'],
    ['4.20', 'number', '4.20'],
    [' -5e-3\t', 'number', '-5e-3'],
    ['5\n', 'number', '5'],
    ['1234567890123456', 'number', '1234567890123456'],
    ['9007199254740992', 'number', '9007199254740992'],
    ['9007199254740993', 'number', undefined],
    ['1e400', 'number', undefined],
    ['9'.repeat(400), 'number', undefined],
    [`0.${'9'.repeat(400)}`, 'number', `0.${'9'.repeat(400)}`],
    ['1e-400', 'number', '1e-400'],
    ['007', 'number', undefined],
    ['-007', 'number', undefined],
    ['+5', 'number', '5'],
    ['.5', 'number', '0.5'],
    ['5.', 'number', '5'],
    ['-.25', 'number', '-0.25'],
    ['+.5e3', 'json', '0.5e3'],
    [' 5. \n', 'number', '5'],
    ['+41791234567', 'number', '41791234567'],
    ['+9007199254740993', 'number', undefined],
    ['+007', 'number', undefined],
    ['.', 'number', undefined],
    ['+', 'number', undefined],
    ['+-5', 'number', undefined],
    ['5.e', 'number', undefined],
    ['.5.', 'number', undefined],
    [',5', 'number', undefined],
    ['1e9.', 'number', undefined],
    ['+1e400', 'number', undefined],
    ['31.12.2024', 'date', undefined],
    ['5e', 'number', undefined],
    ['1,5', 'number', undefined],
    ['1 5', 'number', undefined],
    ['0x10', 'number', undefined],
    ['NaN', 'number', undefined],
    ['-', 'number', undefined],
    [' ', 'number', undefined],
    ['\u00a05', 'number', undefined],
    ['true', 'number', undefined],
    ['"5"', 'number', undefined],
    ['null', 'number', undefined],
    ['true', 'boolean', 'true'],
    ['FALSE', 'boolean', 'false'],
    ['tRuE', 'boolean', 'true'],
    [' true', 'boolean', undefined],
    ['yes', 'boolean', undefined],
    ['1', 'boolean', undefined],
    ['falſe', 'boolean', undefined],
    ['2024-02-29', 'date', '"2024-02-29"'],
    [' 2024-02-29', 'date', undefined],
    ['2024-02-29', 'dateTime', '"2024-02-29"'],
    ['12:30', 'time', '"12:30"'],
    ['P1D', 'duration', '"P1D"'],
    ['a:b', 'uri', '"a:b"'],
    ['a b', 'uri', undefined],
    ['a@b', 'emailAddress', '"a@b"'],
    ['5550100', 'phoneNumber', '"5550100"'],
    ['1️⃣', 'emoji', '"1️⃣"'],
    ['{"a": 1}', 'json', '{"a": 1}'],
    [' [1, null] ', 'json', '[1, null]'],
    ['{\n\t"a": "x\\ty z" }', 'json', '{"a":"x\\ty z"}'],
    ['"a"', 'json', '"a"'],
    [' 4.20 ', 'json', '4.20'],
    [' true ', 'json', 'true'],
    ['TRUE', 'json', undefined],
    ['abc', 'json', undefined],
    ['{a:1}', 'json', undefined],
    ['{"a":1} x', 'json', undefined],
    ['[1', 'json', undefined],
    ['"a\nb"', 'json', undefined],
    ['9007199254740993', 'json', '"9007199254740993"'],
    ['{"a":[9007199254740993]}', 'json', '{"a":["9007199254740993"]}'],
    ['[9007199254740993]', 'array<string>', '["9007199254740993"]'],
    ['[9007199254740993]', 'array<number>', undefined],
    ['[1e400]', 'json', undefined],
    ['["\\u0000"]', 'json', undefined],
    ['["\\ud800"]', 'json', undefined],
    ['"\\ud83d\\ude00"', 'json', '"\\ud83d\\ude00"'],
    [`${'['.repeat(32)}${']'.repeat(32)}`, 'json', `${'['.repeat(32)}${']'.repeat(32)}`],
    [`${'['.repeat(33)}${']'.repeat(33)}`, 'json', undefined],
    ['[1, 2]', 'array<number>', '[1, 2]'],
    ['[1,"a",true]', 'array<string>', '["1","a","true"]'],
    ['["1"]', 'array<number>', undefined],
    ['[" 1"]', 'array<number>', undefined],
    ['["TRUE"]', 'array<boolean>', undefined],
    ['[]', 'array<emoji>', '[]'],
    ['[null]', 'array<json>', undefined],
    ['[1,{}]', 'array<json>', '[1,{}]'],
    ['1', 'array<number>', undefined],
    ['abc', 'array<string>', undefined],
  ])('%j as %s is %s', (text, type, presented) => {
    expect(fitCell(text, type, false, plainCells)).toBe(presented);
    expect(fitsType(text, type)).toBe(presented !== undefined);
  });

  test.each<[text: string, type: ColumnType, presented: string | undefined]>([
    ['1', 'array<number>', '[1]'],
    [' 1', 'array<number>', '[1]'],
    [' 1', 'array<string>', '[" 1"]'],
    ['TRUE', 'array<boolean>', '[true]'],
    ['[1, 2]', 'array<number>', '[1, 2]'],
    ['[1, 2', 'array<string>', '["[1, 2"]'],
    ['[1,{}]', 'array<string>', '["[1,{}]"]'],
    ['[1]', 'array<date>', undefined],
    ['{}', 'array<json>', '[{}]'],
    ['[null]', 'array<json>', '[[null]]'],
    ['abc', 'array<json>', undefined],
    ['abc', 'number', undefined],
  ])('%j as %s is %s when it may be wrapped', (text, type, presented) =>
    expect(fitCell(text, type, true, plainCells)).toBe(presented),
  );

  test.each<[string, ColumnType]>([
    ['null', 'json'],
    [' null\n', 'json'],
    ['null', 'array<json>'],
  ])('%j is empty as %s, and no mismatch', (text, type) => {
    expect(fitCell(text, type, true, plainCells)).toBeUndefined();
    expect(fitsType(text, 'json')).toBe(true);
  });

  const textTypes = scalarKinds.filter(
    (kind) => (stringLikeTypes & typeBit(kind)) !== 0 && kind !== 'string' && kind !== 'markdown',
  );
  test.each(textTypes)('a cell of the type %s fits if the same JSON string does', (type) => {
    const { fit, misfit } = values[type]!;
    for (const text of [...fit, ...misfit]) {
      if (typeof text === 'string' && text !== '')
        expect([text, fitCell(text, type, false, plainCells)]).toEqual([
          text,
          fitToken(JSON.stringify(text), type, false),
        ]);
    }
  });
});

test.each<[text: string, natural: ColumnType, stored: keyof typeof storedAs]>([
  ['1', 'number', 'number'],
  ['-4.20', 'number', 'number'],
  ['0', 'number', 'number'],
  ['1E5', 'number', 'number'],
  [' 5', 'number', 'string'],
  ['5\n', 'number', 'string'],
  ['123456789012345', 'number', 'number'],
  ['-123456789012345.678', 'number', 'number'],
  ['1234567890123456', 'string', 'string'],
  ['-1234567890123456', 'string', 'string'],
  ['1234567890123456.5', 'string', 'string'],
  ['0.30000000000000004', 'number', 'number'],
  ['007', 'string', 'string'],
  ['00', 'string', 'string'],
  ['0.5', 'number', 'number'],
  ['1e400', 'string', 'string'],
  ['.5', 'number', 'string'],
  ['5.', 'number', 'string'],
  ['+3', 'number', 'string'],
  ['+123456', 'number', 'string'],
  [' +1234567', 'string', 'string'],
  ['+41791234567', 'string', 'string'],
  ['2024-03-01 10:00:00', 'dateTime', 'string'],
  ['20240301T100000Z', 'string', 'string'],
  ['true', 'boolean', 'boolean'],
  ['false', 'boolean', 'boolean'],
  ['TRUE', 'boolean', 'string'],
  [' true', 'string', 'string'],
  ['null', 'string', 'string'],
  ['2024-01-01', 'date', 'string'],
  ['2024-01-01T10:00', 'dateTime', 'string'],
  ['2024-13-01', 'string', 'string'],
  ['12:30', 'string', 'string'],
  ['a:b', 'string', 'string'],
  ['[1]', 'string', 'string'],
  ['[]', 'string', 'string'],
  ['{"a":1}', 'string', 'string'],
  ['"a"', 'string', 'string'],
  [' ', 'string', 'string'],
])('%j is naturally %s and is stored as %s', (text, natural, stored) => {
  expect(classifyCell(text, allTypes, plainCells)).toMatchObject({ natural, stored: storedAs[stored] });
});

/** An integer that a double cannot hold as its text, for `JSON.parse`; other values as they are. */
function orText(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  const { source = '' } = context ?? {};
  return /^-?\d+$/.test(source) && BigInt(source) !== BigInt(value as number) ? source : value;
}

describe('any cell', () => {
  const anyType = fc.constantFrom(...columnTypes);
  const runs = { numRuns: 20_000 };

  test('fits exactly the types that can present it', () => {
    fc.assert(
      fc.property(cellText, anyType, (text, type) => {
        const isEmpty = text.trim() === 'null' && type === 'json';
        expect(fitsType(text, type)).toBe(fitCell(text, type, false, plainCells) !== undefined || isEmpty);
        const wrapped = isArrayType(type) && (fitsType(text, type) || fitsType(text, itemKind(type)));
        if (isArrayType(type) && text.trim() !== 'null')
          expect(wrapped).toBe(fitCell(text, type, true, plainCells) !== undefined);
      }),
      runs,
    );
  });

  test('fits the same types if fewer candidates are tested', () => {
    fc.assert(
      fc.property(cellText, fc.nat({ max: allTypes }), (text, candidates) => {
        const all = classifyCell(text, allTypes, plainCells);
        expect(classifyCell(text, candidates, plainCells)).toEqual({ ...all, fits: all.fits & candidates });
      }),
      runs,
    );
  });

  test('fits string, its natural type, and is never naturally an array or json', () => {
    fc.assert(
      fc.property(cellText, (text) => {
        const { fits, natural } = classifyCell(text, allTypes, plainCells);
        expect(fits & typeSet('string', 'markdown')).toBe(typeSet('string', 'markdown'));
        expect(fits & typeBit(natural!)).not.toBe(0);
        expect((arrayTypes | typeBit('json')) & typeBit(natural!)).toBe(0);
      }),
      runs,
    );
  });

  test('survives as it is stored, and reads as valid JSON in one line', () => {
    fc.assert(
      fc.property(cellText, anyType, fc.boolean(), (text, type, wrap) => {
        const { natural, stored } = classifyCell(text, allTypes, plainCells);
        if (stored !== storedAs.string) expect([typeof JSON.parse(text), text.trim()]).toEqual([natural, text]);
        const presented = fitCell(text, type, wrap, plainCells);
        if (presented === undefined) return;
        expect(presented).not.toMatch(/[\n\r\t]/);
        expect(fitToken(presented, type, false)).toBe(presented);
        const isNumber = /^\s*[-+.\d]/.test(text);
        if (type === 'json' && !isNumber) expect(JSON.parse(presented)).toEqual(JSON.parse(text, orText));
        if (type === 'number' || (type === 'json' && isNumber && !presented.startsWith('"')))
          expect(JSON.parse(presented)).toBe(Number(text));
        if (type === 'string') expect(JSON.parse(presented)).toBe(text);
      }),
      runs,
    );
  });
});
