import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import {
  allTypes,
  arrayOf,
  arrayTypes,
  columnTypes,
  type ColumnType,
  type scalarKinds,
  scalarTypes,
  typeBit,
  typeSet,
  type TypeSet,
} from '../../../../src/language/values/column-type.ts';
import { elementsOf, hasOnlyExactNumbers, stringEnd, valueEnd } from '../../../../src/language/values/json-text.ts';
import { booleanTypes, classify, classifyString, numberTypes } from '../../../../src/language/values/json-value.ts';
import { storedAs } from '../../../../src/language/values/profile.ts';

const uris = ['uri', 'imageURI', 'audioURI'] as const;
const text = ['string', 'markdown', 'json'] as const;
const json = typeBit('json');

type Kind = keyof typeof storedAs;

/** The set of the arrays of these types, and json. */
function arraysOf(...kinds: (typeof scalarKinds)[number][]): TypeSet {
  return typeSet(...kinds.map(arrayOf)) | json;
}

describe('a JSON value', () => {
  test.each<[token: string, fits: TypeSet, natural: ColumnType | null, stored: Kind | `${Kind} bigInteger`]>([
    ['"a"', typeSet(...text), 'string', 'string'],
    ['"\\u0061:b"', typeSet(...text, ...uris), 'string', 'string'],
    ['"2024-01-01"', typeSet(...text, 'date', 'dateTime', 'phoneNumber'), 'date', 'string'],
    ['"2024-01-01T10:00"', typeSet(...text, 'dateTime'), 'dateTime', 'string'],
    ['"1"', typeSet(...text), 'string', 'string'],
    ['"true"', typeSet(...text), 'string', 'string'],
    ['1', numberTypes, 'number', 'number'],
    ['-0', numberTypes, 'number', 'number'],
    ['4.20', numberTypes, 'number', 'number'],
    ['9007199254740992', numberTypes, 'number', 'number'],
    ['9007199254740993', typeSet(...text), 'string', 'number bigInteger'],
    ['-9007199254740993', typeSet(...text), 'string', 'number bigInteger'],
    ['100000000000000000000', numberTypes, 'number', 'number'],
    ['9007199254740993.0', numberTypes, 'number', 'number'],
    ['9007199254740993E0', numberTypes, 'number', 'number'],
    ['true', booleanTypes, 'boolean', 'boolean'],
    ['false', booleanTypes, 'boolean', 'boolean'],
    ['{}', json, 'json', 'object'],
    ['{"a":[null,1]}', json, 'json', 'object'],
    ['{"a":{"b":[9007199254740993]}}', json, 'json', 'object bigInteger'],
    ['{"9007199254740993":"9007199254740993\\""}', json, 'json', 'object'],
    ['[]', arrayTypes | json, null, 'emptyArray'],
    ['[ ]', arrayTypes | json, null, 'emptyArray'],
    ['[1,2]', arraysOf('number', ...text), 'array<number>', 'numberArray'],
    ['[ 1 , 2.0 ]', arraysOf('number', ...text), 'array<number>', 'numberArray'],
    ['[true]', arraysOf('boolean', ...text), 'array<boolean>', 'booleanArray'],
    ['["a]","\\",["]', arraysOf(...text), 'array<string>', 'stringArray'],
    ['["2024-01-01","2024-01-01T10:00"]', arraysOf(...text, 'dateTime'), 'array<dateTime>', 'stringArray'],
    ['["a:b"]', arraysOf(...text, ...uris), 'array<string>', 'stringArray'],
    ['[1,"a"]', arraysOf(...text), 'array<string>', 'otherArray'],
    ['[1,true]', arraysOf(...text), 'array<string>', 'otherArray'],
    ['[1,9007199254740993]', arraysOf(...text), 'array<string>', 'numberArray bigInteger'],
    ['[true,9007199254740993]', arraysOf(...text), 'array<string>', 'otherArray bigInteger'],
    ['[null]', json, 'json', 'otherArray'],
    ['["a",null]', json, 'json', 'otherArray'],
    ['["null"]', arraysOf(...text), 'array<string>', 'stringArray'],
    ['[null,9007199254740993]', json, 'json', 'otherArray bigInteger'],
    ['[[]]', arraysOf('json'), 'json', 'otherArray'],
    ['[[1],2]', arraysOf('json'), 'json', 'otherArray'],
    ['[[null]]', arraysOf('json'), 'json', 'otherArray'],
    ['[{"a":1},2]', arraysOf('json'), 'json', 'otherArray'],
    ['[{"a":9007199254740993}]', arraysOf('json'), 'json', 'otherArray bigInteger'],
    ['[[9007199254740993]]', arraysOf('json'), 'json', 'otherArray bigInteger'],
  ])('the JSON value %s has its types', (token, fits, natural, stored) => {
    const bits = (stored.split(' ') as Kind[]).reduce((sum, kind) => sum | storedAs[kind], 0);
    expect(classify(token, allTypes)).toEqual({ fits, natural, stored: bits });
  });

  test('is classified alike, whichever candidates are tested', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 3 }), fc.integer({ min: 0, max: allTypes }), (token, candidates) => {
        fc.pre(token !== 'null');
        const all = classify(token, allTypes);
        expect(classify(token, candidates)).toEqual({ ...all, fits: all.fits & candidates });
      }),
      { numRuns: 2000 },
    );
  });

  test('fits its natural type, also with blanks around its parts', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), (value) => {
        fc.pre(value !== null);
        const compact = classify(JSON.stringify(value), allTypes);
        expect(classify(JSON.stringify(value, null, 1), allTypes)).toEqual(compact);
        if (compact.natural !== null) expect(compact.fits & typeBit(compact.natural)).not.toBe(0);
      }),
      { numRuns: 2000 },
    );
  });

  test('a scalar fits no array and an array no scalar but json', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 2 }), (value) => {
        fc.pre(value !== null);
        const { fits } = classify(JSON.stringify(value), allTypes);
        expect(fits & (Array.isArray(value) ? scalarTypes & ~json : arrayTypes)).toBe(0);
      }),
      { numRuns: 1000 },
    );
  });

  test('a string is classified by its text', () => {
    for (const said of ['a"b', 'x:\\', '2024-01-01', '😀']) {
      expect(classify(JSON.stringify(said), allTypes)).toEqual(classifyString(said, allTypes));
    }
    expect(columnTypes).toHaveLength(30);
  });
});

describe('walking over JSON text', () => {
  test('splits arrays where JSON.parse does', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue({ maxDepth: 3 })), fc.constantFrom(0, 2), (values, indent) => {
        const array = JSON.stringify(values, null, indent);
        expect(elementsOf(array).map((token): unknown => JSON.parse(token))).toEqual(JSON.parse(array));
      }),
      { numRuns: 1000 },
    );
  });

  test('finds the end of strings and values', () => {
    expect(stringEnd('x"a\\"b\\\\"y"', 1)).toBe(9);
    expect(valueEnd('{"}":["]",{}]},1', 0)).toBe(14);
    expect(valueEnd('12,3', 0)).toBe(2);
    expect(valueEnd('true', 0)).toBe(4);
  });

  test('takes linear time for long strings of escapes', () => {
    const token = JSON.stringify('\\"'.repeat(200_000));
    expect(stringEnd(token, 0)).toBe(token.length);
    expect(hasOnlyExactNumbers(`[${token},1]`)).toBe(true);
  });
});
