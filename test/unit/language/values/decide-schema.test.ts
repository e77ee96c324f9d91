import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import type { ColumnType } from '../../../../src/language/values/column-type.ts';
import { columnTypes } from '../../../../src/language/values/column-type.ts';
import { checkColumnCount, checkGivenSchema, decideSchema } from '../../../../src/language/values/decide-schema.ts';
import type { SchemaDecision, SchemaErrorMode } from '../../../../src/language/values/decide-schema.ts';
import { fitToken } from '../../../../src/language/values/fit-value.ts';
import { isAtMost } from '../../../../src/language/values/lattice.ts';
import { currentType, findColumn, schemaOf } from '../../../../src/language/values/table-schema.ts';
import type { TableSchema } from '../../../../src/language/values/table-schema.ts';
import { anyRows, profileOf, profileOfRows } from './rows.ts';

const version = 9n;

/** `a:number b:array<date>` as a schema since version 1; null to infer. */
function schemaFrom(text: string | null): TableSchema | null {
  if (text === null) return null;
  const columns = text
    .split(' ')
    .filter((column) => column !== '')
    .map((column) => column.split(':'));
  return schemaOf(
    columns.map(([id, type]) => ({ id: id!, type: type as ColumnType })),
    1n,
  );
}

function decide(schema: string | null, mode: SchemaErrorMode, rows: readonly string[], columnsMax = 5): SchemaDecision {
  return decideSchema({
    schema: schemaFrom(schema),
    profile: profileOfRows(...rows),
    mode,
    version,
    columnsMax,
    place: ({ row }, columnId) => `rows[${row}].${columnId}`,
  });
}

/** The refusal, or the schema with `!` for what is new, and a `*` if older values read otherwise. */
function shown(decision: SchemaDecision): string {
  if ('refusal' in decision) return `${decision.refusal.type} ${decision.refusal.message}`;
  const columns = decision.schema.columns.map(
    (column) => `${column.id}:${currentType(column)}${column.types.at(-1)!.since === version ? '!' : ''}`,
  );
  expect(decision.changed).toBe(columns.some((column) => column.endsWith('!')) || columns.length === 0);
  return columns.join(' ') + (decision.widened ? ' *' : '');
}

const big = '9007199254740993';
const bigReason = "does not fit the column's type number: a 64-bit floating-point number cannot hold it exactly";

describe('without a schema', () => {
  test.each<[rows: string[], decision: string]>([
    [[], ''],
    [['{}'], ''],
    [['{"a":1,"b":"x"}'], 'a:number! b:string!'],
    [['{"b":1}', '{"a":true,"b":2}'], 'b:number! a:boolean!'],
    [['{"b":null}', '{"a":true,"b":2}'], 'b:number! a:boolean!'],
    [['{"a":null}'], 'a:string!'],
    [['{"a":"2024-01-01"}'], 'a:date!'],
    [['{"a":"2024-01-01"}', '{"a":"2024-01-01T10:00"}'], 'a:dateTime!'],
    [['{"a":"2024-01-01"}', '{"a":"soon"}'], 'a:string!'],
    [['{"a":1}', '{"a":true}'], 'a:string!'],
    [['{"a":"a@b"}'], 'a:string!'],
    [['{"a":[1]}', '{"a":2}'], 'a:array<number>!'],
    [['{"a":["2024-01-01"]}', '{"a":"2024-01-01T10:00"}'], 'a:array<dateTime>!'],
    [['{"a":[1]}', '{"a":true}'], 'a:array<string>!'],
    [['{"a":[]}'], 'a:array<string>!'],
    [['{"a":[]}', '{"a":[1]}'], 'a:array<string>!'],
    [['{"a":[]}', '{"a":{}}'], 'a:json!'],
    [['{"a":{}}', '{"a":1}'], 'a:json!'],
    [['{"a":[null]}'], 'a:json!'],
    [['{"a":[[1]]}'], 'a:json!'],
    [['{"a":[{}]}'], 'a:json!'],
    [['{"__proto__":1,"10":2,"constructor":3}'], '__proto__:number! 10:number! constructor:number!'],
    [['{"$stashID":null}'], 'column_id_reserved rows[0].$stashID: the column ID "$stashID" is reserved'],
    [['{"a":1}', '{"a":1,"$rowID":1}'], 'column_id_reserved rows[1].$rowID: the column ID "$rowID" is reserved'],
    [['{"a":1}', `{"a":${big}}`], 'a:string!'],
    [[`{"a":[${big}]}`], 'a:array<string>!'],
    [[`{"a":{"b":${big}}}`], 'a:json!'],
    [[`{"a":${big}}`, '{"a":"2024-01-01"}'], 'a:string!'],
    [[`{"$stashID":1,"a":${big}}`], 'column_id_reserved rows[0].$stashID: the column ID "$stashID" is reserved'],
    [['{"a":1,"b":1,"c":1,"d":1,"e":1}'], 'a:number! b:number! c:number! d:number! e:number!'],
    [
      ['{"a":1,"b":1,"c":1}', '{"d":1,"e":1,"f":1}'],
      'limit_exceeded the table would have 6 columns; at most 5 are allowed',
    ],
  ])('the rows %j without a schema give %s', (rows, decision) => {
    expect(shown(decide(null, 'abort', rows))).toBe(decision);
    expect(shown(decide(null, 'updateSchema', rows))).toBe(decision);
  });

  test.each<[rows: string[], decision: string]>([
    [['{"$stashID":1}'], 'column_id_reserved rows[0].$stashID: the column ID "$stashID" is reserved'],
  ])('dropColumns with the rows %j gives %s', (rows, decision) =>
    expect(shown(decide(null, 'dropColumns', rows))).toBe(decision),
  );
});

describe('abort', () => {
  test.each<[schema: string, rows: string[], decision: string]>([
    ['a:number', [], 'a:number'],
    ['a:number', ['{"a":1}', '{"a":null}', '{}'], 'a:number'],
    ['a:string', ['{"a":1}', '{"a":true}', '{"a":"x"}'], 'a:string'],
    ['a:dateTime', ['{"a":"2024-01-01"}'], 'a:dateTime'],
    ['a:json', ['{"a":[null]}', '{"a":1}'], 'a:json'],
    ['a:array<date>', ['{"a":[]}'], 'a:array<date>'],
    [
      'a:number',
      ['{"a":1}', '{"a":"abc"}'],
      'column_has_invalid_value rows[1].a: "abc" does not fit the column\'s type number',
    ],
    ['a:number', ['{"a":"1"}'], 'column_has_invalid_value rows[0].a: "1" does not fit the column\'s type number'],
    ['a:string', ['{"a":[]}'], "column_has_invalid_value rows[0].a: [] does not fit the column's type string"],
    [
      'a:array<number>',
      ['{"a":1}'],
      "column_has_invalid_value rows[0].a: 1 does not fit the column's type array<number>",
    ],
    [
      'a:array<json>',
      ['{"a":[null]}'],
      "column_has_invalid_value rows[0].a: [null] does not fit the column's type array<json>",
    ],
    ['a:number', [`{"a":${big}}`], `column_has_invalid_value rows[0].a: ${big} ${bigReason}`],
    ['a:json', [`{"a":{"b":${big}}}`], 'a:json'],
    ['a:string', [`{"a":${big}}`], 'a:string'],
    ['a:number', ['{"b":null}'], 'column_id_not_found rows[0].b: the table has no column "b"'],
    [
      'a:number',
      ['{"constructor":1}'],
      'column_id_not_found rows[0].constructor: the table has no column "constructor"',
    ],
    ['a:number', ['{"$stashID":"s"}'], 'column_id_reserved rows[0].$stashID: the column ID "$stashID" is reserved'],
    ['a:number', ['{"a":"x","b":1}'], 'column_has_invalid_value rows[0].a: "x" does not fit the column\'s type number'],
    ['a:number', ['{"b":1,"a":"x"}'], 'column_id_not_found rows[0].b: the table has no column "b"'],
    [
      'a:number',
      ['{"a":1}', '{"a":"x"}', '{"b":1}'],
      'column_has_invalid_value rows[1].a: "x" does not fit the column\'s type number',
    ],
    [
      'a:number b:date',
      ['{"a":1,"b":"x"}', '{"a":"x"}'],
      'column_has_invalid_value rows[0].b: "x" does not fit the column\'s type date',
    ],
    [
      'a:date',
      ['{"a":"2024-01-01"}', '{"a":1}', '{"a":"x"}'],
      "column_has_invalid_value rows[1].a: 1 does not fit the column's type date",
    ],
  ])('%s with %j gives %s', (schema, rows, decision) => expect(shown(decide(schema, 'abort', rows))).toBe(decision));
});

describe('dropColumns', () => {
  test.each<[schema: string, rows: string[]]>([
    ['a:number', ['{"a":"x"}']],
    ['a:number', ['{"b":1}']],
    ['a:number', ['{"$stashID":1}']],
    ['a:number', [`{"a":${big},"b":{"c":${big}}}`]],
  ])('%s with %j keeps the schema', (schema, rows) => expect(shown(decide(schema, 'dropColumns', rows))).toBe(schema));
});

describe('updateSchema', () => {
  test.each<[schema: string, rows: string[], decision: string]>([
    ['a:number', ['{"a":1}'], 'a:number'],
    ['a:number', [], 'a:number'],
    ['a:number', ['{"a":1,"b":true}'], 'a:number b:boolean!'],
    ['a:number', ['{"c":null}', '{"b":[1],"a":"x"}'], 'a:string! c:string! b:array<number>! *'],
    ['a:number', ['{"a":"x"}'], 'a:string! *'],
    ['a:date', ['{"a":"2024-01-01T10:00"}'], 'a:dateTime! *'],
    ['a:date', ['{"a":"2024-01-01T10:00"}', '{"a":1}'], 'a:string! *'],
    ['a:uri', ['{"a":"b:c"}'], 'a:uri'],
    ['a:uri', ['{"a":"b:c"}', '{"a":"x"}'], 'a:string! *'],
    ['a:imageURI', ['{"a":["b:c"]}'], 'a:array<string>! *'],
    ['a:time', ['{"a":"10:00"}', '{"a":"2024-01-01"}'], 'a:string! *'],
    ['a:number', ['{"a":[1]}'], 'a:array<number>! *'],
    ['a:number', ['{"a":[]}'], 'a:array<string>! *'],
    ['a:array<number>', ['{"a":[]}'], 'a:array<number>'],
    ['a:array<number>', ['{"a":1}'], 'a:array<number>'],
    ['a:array<number>', ['{"a":1}', '{"a":[]}', '{"a":"x"}'], 'a:array<string>! *'],
    ['a:array<number>', ['{"a":[true]}'], 'a:array<string>! *'],
    ['a:array<uri>', ['{"a":["b:c"]}', '{"a":"d:e"}'], 'a:array<uri>'],
    ['a:array<uri>', ['{"a":"d"}'], 'a:array<string>! *'],
    ['a:array<date>', ['{"a":"2024-01-01T10:00"}'], 'a:array<dateTime>! *'],
    ['a:array<number>', ['{"a":{}}'], 'a:json! *'],
    ['a:array<number>', ['{"a":[null]}'], 'a:json! *'],
    ['a:array<json>', ['{"a":{}}', '{"a":1}'], 'a:array<json>'],
    ['a:string', ['{"a":{}}'], 'a:json! *'],
    ['a:json', ['{"a":[]}'], 'a:json'],
    ['a:json', [`{"a":${big}}`], 'a:json'],
    ['a:number', [`{"a":${big}}`], 'a:string! *'],
    ['a:array<number>', [`{"a":${big}}`], 'a:array<string>! *'],
    ['a:number', [`{"b":${big}}`], 'a:number b:string!'],
    ['a:number', ['{"$rowID":1}'], 'column_id_reserved rows[0].$rowID: the column ID "$rowID" is reserved'],
    [
      'a:number',
      ['{"a":1,"$stashID":1}', `{"a":${big}}`],
      'column_id_reserved rows[0].$stashID: the column ID "$stashID" is reserved',
    ],
    ['a:number b:date c:date d:date', ['{"e":1,"a":2}'], 'a:number b:date c:date d:date e:number!'],
    [
      'a:number b:date c:date d:date',
      ['{"e":1,"f":2}'],
      'limit_exceeded the table would have 6 columns; at most 5 are allowed',
    ],
    ['a:number b:date c:date d:date e:date f:date', ['{"a":"x"}'], 'a:string! b:date c:date d:date e:date f:date *'],
  ])('%s with %j gives %s', (schema, rows, decision) =>
    expect(shown(decide(schema, 'updateSchema', rows))).toBe(decision),
  );

  test('drops no value, and narrows no column', () => {
    const anySchema = fc.array(fc.constantFrom(...columnTypes), { minLength: 3, maxLength: 3 }).map((types) =>
      schemaOf(
        types.map((type, at) => ({ id: ['a', 'b', '10'][at]!, type })),
        1n,
      ),
    );
    fc.assert(
      fc.property(fc.option(anySchema), anyRows, (before, rows) => {
        const decision = decideSchema({
          schema: before,
          profile: profileOf(rows),
          mode: 'updateSchema',
          version,
          columnsMax: 9,
          place: (_, id) => id,
        });
        fc.pre(!('refusal' in decision));
        for (const column of before?.columns ?? []) {
          const after = findColumn(decision.schema, column.id)!;
          expect(isAtMost(currentType(column), currentType(after))).toBe(true);
        }
        for (const { id, token } of rows.flat()) {
          const type = currentType(findColumn(decision.schema, id)!);
          if (token !== 'null') expect([type, token, fitToken(token, type, true)]).not.toContain(undefined);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

test('a widened column keeps its earlier types, oldest first', () => {
  const decision = decide('a:date', 'updateSchema', ['{"a":1}']);
  expect(decision).toMatchObject({
    schema: {
      columns: [
        {
          id: 'a',
          types: [
            { since: 1n, type: 'date' },
            { since: version, type: 'string' },
          ],
        },
      ],
    },
  });
});

test.each([
  [['a', 'b'], null],
  [[], null],
  [['a', '$stashID', 'a'], 'column_id_reserved schema.columns[1].id: the column ID "$stashID" is reserved'],
  [['$rowID'], 'column_id_reserved schema.columns[0].id: the column ID "$rowID" is reserved'],
  [['a', 'b', 'a', '$rowID'], 'column_id_not_unique schema.columns[2].id: the column ID "a" occurs twice'],
  [['__proto__', '__proto__'], 'column_id_not_unique schema.columns[1].id: the column ID "__proto__" occurs twice'],
])('a given schema of %j', (ids, expected) => {
  const refusal = checkGivenSchema(ids.map((id) => ({ id })));
  expect(refusal && `${refusal.type} ${refusal.message}`).toBe(expected);
});

test('the number of columns is limited', () => {
  expect(checkColumnCount(5, 5)).toBeNull();
  expect(checkColumnCount(6, 5)).toMatchObject({ type: 'limit_exceeded' });
});
