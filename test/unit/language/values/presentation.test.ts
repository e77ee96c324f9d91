import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import type { ColumnType } from '../../../../src/language/values/column-type.ts';
import { allTypes, columnTypes, isArrayType, itemKind, typeBit } from '../../../../src/language/values/column-type.ts';
import { countDropped } from '../../../../src/language/values/decide-schema.ts';
import { fitToken, widenToken } from '../../../../src/language/values/fit-value.ts';
import { classify } from '../../../../src/language/values/json-value.ts';
import { isAtMost } from '../../../../src/language/values/lattice.ts';
import { isPlain, presenterOf } from '../../../../src/language/values/presentation.ts';
import { currentRule } from '../../../../src/language/values/rule.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import { schemaOf } from '../../../../src/language/values/table-schema.ts';
import type { TableSchema } from '../../../../src/language/values/table-schema.ts';
import { anyRows, anyToken, formatRow, profileOf, profileOfRows } from './rows.ts';

const anyType = fc.constantFrom(...columnTypes);

/** `a:date@1,string@5 b:number@1` as a schema: the types of each column with the versions since when it has them. */
function schemaFrom(text: string): TableSchema {
  return {
    columns: text.split(' ').map((column) => {
      const [id, types] = column.split(':');
      return {
        id: id!,
        types: types!.split(',').map((entry) => {
          const [type, since] = entry.split('@');
          return { type: type as ColumnType, since: BigInt(since!) };
        }),
      };
    }),
  };
}

describe('a value under its type', () => {
  test.each<[token: string, type: ColumnType, presented: string | undefined]>([
    ['4.20', 'number', '4.20'],
    ['4.20', 'string', '"4.20"'],
    ['1e3', 'markdown', '"1e3"'],
    ['true', 'string', '"true"'],
    ['true', 'boolean', 'true'],
    ['4.20', 'json', '4.20'],
    ['"a"', 'string', '"a"'],
    ['"\\u0061"', 'string', '"\\u0061"'],
    ['"2024-01-01"', 'dateTime', '"2024-01-01"'],
    ['"1"', 'number', undefined],
    ['1', 'boolean', undefined],
    ['"true"', 'boolean', undefined],
    ['9007199254740993', 'number', undefined],
    ['9007199254740993', 'string', '"9007199254740993"'],
    ['-9007199254740993', 'markdown', '"-9007199254740993"'],
    ['9007199254740993', 'json', '"9007199254740993"'],
    ['9007199254740993', 'dateTime', undefined],
    [
      '{"9007199254740993": [1, 9007199254740993 ,9007199254740992], "b":-9007199254740993}',
      'json',
      '{"9007199254740993": [1, "9007199254740993" ,9007199254740992], "b":"-9007199254740993"}',
    ],
    ['[1, 9007199254740993]', 'array<string>', '["1","9007199254740993"]'],
    ['[1, 9007199254740993]', 'array<number>', undefined],
    ['[1, {"a":9007199254740993}]', 'array<json>', '[1,{"a":"9007199254740993"}]'],
    ['{"a": 1}', 'json', '{"a": 1}'],
    ['{"a":1}', 'string', undefined],
    ['[1, 2]', 'array<number>', '[1, 2]'],
    ['[1, "a", true]', 'array<string>', '["1","a","true"]'],
    ['["a", "b"]', 'array<string>', '["a", "b"]'],
    ['[1,"a"]', 'array<number>', undefined],
    ['[1,{"a":[2]}]', 'array<json>', '[1,{"a":[2]}]'],
    ['[null]', 'array<json>', undefined],
    ['[null]', 'json', '[null]'],
    ['[]', 'array<uri>', '[]'],
    ['[]', 'string', undefined],
    ['1', 'array<number>', undefined],
  ])('%s as %s is %s', (token, type, presented) => expect(fitToken(token, type, false)).toBe(presented));

  test.each<[token: string, type: ColumnType, presented: string | undefined]>([
    ['1', 'array<number>', '[1]'],
    ['1', 'array<string>', '["1"]'],
    ['"a"', 'array<number>', undefined],
    ['{}', 'array<json>', '[{}]'],
    ['[1]', 'array<json>', '[1]'],
    ['[null]', 'array<json>', '[[null]]'],
    ['[1]', 'array<date>', undefined],
    ['1', 'date', undefined],
    ['9007199254740993', 'array<json>', '["9007199254740993"]'],
    ['9007199254740993', 'array<number>', undefined],
  ])('%s as %s is %s when it may be wrapped', (token, type, presented) =>
    expect(fitToken(token, type, true)).toBe(presented),
  );

  test('reads back as the value that was sent, or as its text', () => {
    fc.assert(
      fc.property(anyToken, anyType, (token, type) => {
        const presented = fitToken(token, type, false);
        expect(presented !== undefined).toBe((classify(token, allTypes).fits & typeBit(type)) !== 0);
        if (presented === undefined) return;
        const item = isArrayType(type) ? itemKind(type) : type;
        const asText = (value: unknown, text: string): unknown =>
          (item === 'string' || item === 'markdown') && typeof value !== 'string' ? text : value;
        const texts = token.slice(1, -1).split(', ');
        // Within `json` an integer that a double cannot hold is its text.
        const sent = JSON.parse(
          item === 'json' ? token.replaceAll('9007199254740993', '"9007199254740993"') : token,
        ) as unknown;
        const expected = isArrayType(type)
          ? (sent as unknown[]).map((value, at) => asText(value, texts[at]!))
          : asText(sent, token);
        expect(JSON.parse(presented)).toEqual(expected);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('a widening', () => {
  test.each<[token: string, from: ColumnType, to: ColumnType, widened: string]>([
    ['42', 'number', 'string', '"42"'],
    ['false', 'boolean', 'string', '"false"'],
    ['42', 'number', 'array<number>', '[42]'],
    ['42', 'number', 'array<string>', '["42"]'],
    ['42', 'number', 'json', '42'],
    ['42', 'number', 'array<json>', '[42]'],
    ['"a"', 'string', 'array<json>', '["a"]'],
    ['"2024-01-01"', 'date', 'dateTime', '"2024-01-01"'],
    ['[1, 2]', 'array<number>', 'array<string>', '["1","2"]'],
    ['[1, 2]', 'array<number>', 'array<json>', '[1, 2]'],
    ['[1]', 'array<number>', 'json', '[1]'],
    ['[]', 'array<number>', 'array<string>', '[]'],
  ])('%s that widens from %s to %s becomes %s', (token, from, to, widened) =>
    expect(widenToken(token, from, to)).toBe(widened),
  );

  test('converts each value to one that fits the wider type', () => {
    fc.assert(
      fc.property(anyToken, anyType, anyType, (token, from, to) => {
        const presented = fitToken(token, from, false);
        fc.pre(presented !== undefined && isAtMost(from, to));
        const widened = widenToken(presented, from, to);
        expect(fitToken(widened, to, false)).toBe(widened);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('a row', () => {
  test.each<[body: string, schema: string, decidedAt: bigint, presented: string]>([
    ['{"a":1}', 'a:number@1', 1n, '{"a":1}'],
    ['{"b":1,"a":2}', 'a:number@1 b:number@1', 1n, '{"a":2,"b":1}'],
    ['{"a": 1, "b": 2}', 'a:number@1 b:number@1', 1n, '{"a":1,"b":2}'],
    ['{"c":1,"a":2}', 'a:number@1 b:number@1', 1n, '{"a":2}'],
    ['{"a":"x","b":2}', 'a:number@1 b:number@1', 1n, '{"b":2}'],
    ['{"a":"x","b":2}', 'a:number@1,string@2 b:number@1', 1n, '{"b":2}'],
    ['{"a":"x","b":2}', 'a:number@1,string@2 b:number@1', 2n, '{"a":"x","b":2}'],
    ['{"a":1,"b":2}', 'a:number@1 b:number@2', 1n, '{"a":1}'],
    ['{"a":4.0}', 'a:number@1,string@3,array<string>@5', 2n, '{"a":["4.0"]}'],
    ['{"a":4.0}', 'a:number@1,string@3,array<string>@5', 3n, '{"a":["4.0"]}'],
    ['{"a":4.0}', 'a:number@1,array<json>@3', 1n, '{"a":[4.0]}'],
    ['{"a":"4","b":"x"}', 'a:string@1,number@3 b:string@1,number@3', 1n, '{"a":4}'],
    ['{"a":"x"}', 'a:string@1,number@3,string@5', 1n, '{}'],
    ['{"a":"x"}', 'a:string@1,number@3,string@5', 5n, '{"a":"x"}'],
    ['{"10":1,"__proto__":2}', '__proto__:number@1 10:number@1', 1n, '{"__proto__":2,"10":1}'],
    ['{}', 'a:number@1', 1n, '{}'],
  ])('%s under %s, received at %s, reads %s', (body, schema, decidedAt, presented) => {
    expect(
      presenterOf(schemaFrom(schema), { stored: 'received', decidedAt, wrap: false, rule: currentRule })(body),
    ).toBe(presented);
  });

  test('has no value in a column that was removed and added again later, in whatever form it is stored', () => {
    const before = schemaFrom('a:number@1 b:number@1');
    const again = schemaFrom('a:number@1 b:number@7');
    for (const stored of ['received', 'cells', 'presented'] as const) {
      const form = { stored, wrap: false, rule: currentRule };
      expect(presenterOf(before, { ...form, decidedAt: 1n })('{"a":1,"b":2}')).toBe('{"a":1,"b":2}');
      expect(presenterOf(again, { ...form, decidedAt: 6n })('{"a":1,"b":2}')).toBe('{"a":1}');
      expect(presenterOf(again, { ...form, decidedAt: 7n })('{"a":1,"b":2}')).toBe('{"a":1,"b":2}');
    }
  });

  test('that is stored as presented is only widened', () => {
    const schema = schemaFrom('a:number@1,array<number>@3 b:date@1,string@2');
    expect(
      presenterOf(schema, { stored: 'presented', decidedAt: 1n, wrap: false, rule: currentRule })(
        '{"a":1,"b":"2024-01-01"}',
      ),
    ).toBe('{"a":[1],"b":"2024-01-01"}');
    expect(
      presenterOf(schema, { stored: 'presented', decidedAt: 3n, wrap: false, rule: currentRule })('{"a":[1]}'),
    ).toBe('{"a":[1]}');
  });

  test('that is stored as presented reads the same as one that is presented now', () => {
    const types = fc
      .array(anyType, { minLength: 1, maxLength: 3 })
      .map((chain) =>
        chain.filter(
          (type, at) => at === 0 || chain.slice(0, at).every((before) => before !== type && isAtMost(before, type)),
        ),
      );
    const schemas = fc.tuple(types, types).map((columns) => ({
      columns: columns.map((chain, at) => ({
        id: ['a', '10'][at]!,
        types: chain.map((type, since) => ({ type, since: BigInt(since + 1) })),
      })),
    }));
    fc.assert(
      fc.property(anyRows, schemas, fc.boolean(), (rows, schema, wrap) => {
        const then: TableSchema = {
          columns: schema.columns.map((column) => ({ ...column, types: column.types.slice(0, 1) })),
        };
        const receivedThen = presenterOf(then, { stored: 'received', decidedAt: 1n, wrap, rule: currentRule });
        const received = presenterOf(schema, { stored: 'received', decidedAt: 1n, wrap, rule: currentRule });
        const presented = presenterOf(schema, { stored: 'presented', decidedAt: 1n, wrap, rule: currentRule });
        for (const row of rows) {
          const body = formatRow(row.filter(({ token }) => token !== 'null'));
          expect(presented(receivedThen(body))).toBe(received(body));
        }
      }),
      { numRuns: 1000 },
    );
  });
});

describe('bodies are plain', () => {
  test.each<[rows: string[], schema: string, version: bigint, plain: boolean]>([
    [[], 'a:number@1', 1n, true],
    [['{"a":1}', '{"b":"x"}'], 'a:number@1 b:string@1', 1n, true],
    [['{"b":"x"}'], 'a:number@1 b:string@1', 1n, true],
    [['{"b":"x","a":1}'], 'a:number@1 b:string@1', 1n, false],
    [['{"a":1,"c":null}'], 'a:number@1', 1n, true],
    [['{"a":1,"c":2}'], 'a:number@1', 1n, false],
    [['{"a":1}'], 'a:number@2', 1n, false],
    [['{"a":"x"}'], 'a:number@1', 1n, false],
    [['{"a":1}'], 'a:string@1', 1n, false],
    [['{"a":1}'], 'a:number@1,string@2', 1n, false],
    [['{"a":1}'], 'a:number@1,json@2', 1n, true],
    [['{"a":"b:c"}'], 'a:uri@1,string@2', 1n, true],
    [['{"a":"b:c"}'], 'a:uri@1,array<string>@2', 1n, false],
    [['{"a":true}'], 'a:boolean@1', 1n, true],
    [['{"a":1}', '{"a":[null]}', '{"a":{}}'], 'a:json@1', 1n, true],
    [['{"a":9007199254740993}'], 'a:json@1', 1n, false],
    [['{"a":[1,{"b":9007199254740993}]}'], 'a:array<json>@1', 1n, false],
    [['{"a":9007199254740992}'], 'a:json@1', 1n, true],
    [['{"a":[]}', '{"a":[1]}'], 'a:array<number>@1', 1n, true],
    [['{"a":[1]}'], 'a:array<string>@1', 1n, false],
    [['{"a":["x"]}'], 'a:array<string>@1', 1n, true],
    [['{"a":["x",1]}'], 'a:array<string>@1', 1n, false],
    [['{"a":[true]}'], 'a:array<boolean>@1', 1n, true],
    [['{"a":["x",1,[{}]]}'], 'a:array<json>@1', 1n, true],
    [['{"a":[null]}'], 'a:array<json>@1', 1n, false],
    [['{"a":1}'], 'a:array<number>@1', 1n, false],
  ])('%j under %s at %s: %s', (rows, schema, version, plain) => {
    expect(isPlain(profileOfRows(...rows), schemaFrom(schema), version)).toBe(plain);
  });

  test('are plain only if they are presented as they are stored', () => {
    const schemas = fc.tuple(anyType, anyType, anyType).map((types) =>
      schemaOf(
        types.map((type, at) => ({ id: ['a', 'b', '10'][at]!, type })),
        1n,
      ),
    );
    let plainCount = 0;
    fc.assert(
      fc.property(anyRows, schemas, fc.boolean(), (rows, schema, wrap) => {
        const profile = profileOf(rows);
        if (!isPlain(profile, schema, 1n)) return;
        plainCount += 1;
        const order = profile.columns.map(({ id }) => id);
        const present = presenterOf(schema, { stored: 'received', decidedAt: 1n, wrap, rule: currentRule });
        for (const row of rows) {
          const cells = row
            .filter(({ token }) => token !== 'null')
            .sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id));
          expect(present(formatRow(cells))).toBe(formatRow(cells));
        }
      }),
      { numRuns: 5000 },
    );
    expect(plainCount).toBeGreaterThan(0);
  });
});

test('the count of dropped cells equals the number of cells that rows lack', () => {
  const schemas = fc.tuple(anyType, anyType).map((types) =>
    schemaOf(
      types.map((type, at) => ({ id: ['a', 'b'][at]!, type })),
      1n,
    ),
  );
  fc.assert(
    fc.property(anyRows, schemas, fc.boolean(), (rows, schema, wrap) => {
      const present = presenterOf(schema, { stored: 'received', decidedAt: 1n, wrap, rule: currentRule });
      const given = rows.map((row) => row.filter(({ token }) => token !== 'null'));
      const lost = given.reduce((sum, row) => sum + row.length - parseRow(present(formatRow(row))).length, 0);
      expect(countDropped(profileOf(rows, true), schema, wrap)).toBe(lost);
      expect(countDropped(profileOf(rows), schema, wrap)).toBe(rows.length === 0 ? 0 : undefined);
    }),
    { numRuns: 2000 },
  );
});
