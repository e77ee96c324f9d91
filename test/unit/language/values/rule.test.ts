/** What fits by the rule of its time (src/language/values/rule.ts). */
import { describe, expect, test } from '@jest/globals';
import type { ColumnType } from '../../../../src/language/values/column-type.ts';
import { applyPatch, presenterOf } from '../../../../src/language/values/presentation.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import {
  cellFormOf,
  currentRule,
  fitsBy,
  joinedRule,
  ruleOfCells,
  type Rule,
} from '../../../../src/language/values/rule.ts';
import { schemaOf } from '../../../../src/language/values/table-schema.ts';

const rules: readonly Rule[] = [1, 2, 3];

const extended = '"2024-03-01T10:00:00Z"';
const day = '"2024-03-01"';
const blank = '"2024-03-01 10:00"';
const basic = '"20240301T100000Z"';

/** A value, the type of its column, and the first rule by which it fits. */
const cases: readonly (readonly [token: string, type: ColumnType, since: Rule])[] = [
  [extended, 'dateTime', 1],
  [day, 'dateTime', 1],
  [blank, 'dateTime', 2],
  [basic, 'dateTime', 2],
  [`[${extended},${day}]`, 'array<dateTime>', 1],
  ['[]', 'array<dateTime>', 1],
  [`[${extended},${blank}]`, 'array<dateTime>', 2],
  [`[${basic}]`, 'array<dateTime>', 2],
  [blank, 'string', 1],
  [basic, 'json', 1],
  [`[${blank}]`, 'array<string>', 1],
  ['1', 'number', 1],
  ['"9007199254740993"', 'string', 1],
  ['["9007199254740993"]', 'array<string>', 1],
  ['{"9007199254740993":"9007199254740993"}', 'json', 1],
];

describe.each(cases)('%s in a column of %s', (token, type, since) => {
  const column = [{ id: 'c', type }];

  test.each(rules)('fits, or not, by rule %i', (rule) => {
    expect(fitsBy(rule, { text: token, isCell: false }, token, type)).toBe(rule >= since);
  });

  test.each(rules)('fits as it is read and patched by rule %i', (rule) => {
    const body = `{"c":${token}}`;
    const kept = rule >= since ? body : '{}';
    expect(presenterOf(schemaOf(column, 1n), { stored: 'received', decidedAt: 1n, wrap: false, rule })(body)).toBe(
      kept,
    );
    const cell = `{"c":${JSON.stringify(type === 'string' || !token.startsWith('"') ? token : JSON.parse(token))}}`;
    const ofCell = type === 'string' ? cell : kept;
    if (type !== 'json')
      expect(presenterOf(schemaOf(column, 1n), { stored: 'cells', decidedAt: 1n, wrap: false, rule })(cell)).toBe(
        ofCell,
      );
    expect(applyPatch('{}', parseRow(body), schemaOf(column, 1n), false, rule).body).toBe(kept);
  });
});

test('a wrapped scalar is also judged by the rule', () => {
  const column = schemaOf([{ id: 'c', type: 'array<dateTime>' }], 1n);
  const read = (rule: Rule): string =>
    presenterOf(column, { stored: 'received', decidedAt: 1n, wrap: true, rule })(`{"c":${blank}}`);
  expect([read(1), read(2)]).toEqual(['{}', `{"c":[${blank}]}`]);
  const patched = (rule: Rule): string => applyPatch('{}', parseRow(`{"c":${basic}}`), column, true, rule).body;
  expect([patched(1), patched(2)]).toEqual(['{}', `{"c":[${basic}]}`]);
});

test.each([
  [1, '{}', '{}'],
  [2, '{}', '{}'],
  [3, '{"c":0.5}', '{"c":[0.5]}'],
])('by rule %i a cell .5 reads %s in a column of numbers, and %s in one of arrays', (rule, read, wrapped) => {
  const readAs = (type: ColumnType): string =>
    presenterOf(schemaOf([{ id: 'c', type }], 1n), { stored: 'cells', decidedAt: 1n, wrap: true, rule })('{"c":".5"}');
  expect([readAs('number'), readAs('array<number>'), readAs('string')]).toEqual([read, wrapped, '{"c":".5"}']);
});

test('the number of a rule contains the form of cells', () => {
  const all = ([undefined, '.', ','] as const).flatMap((decimal) =>
    ([undefined, 'd.m.y', 'd/m/y', 'm/d/y'] as const).map((dateFormat) => {
      return { ...(decimal && { decimal }), ...(dateFormat && { dateFormat }) };
    }),
  );
  const formed = all.map(ruleOfCells);
  expect(formed.map(cellFormOf)).toEqual(
    all.map(({ decimal = 'plain', dateFormat = null }) => ({ numbers: decimal, dateFormat })),
  );
  expect(new Set(formed).size).toBe(12);
  expect(ruleOfCells({})).toBe(currentRule);
  // Events hold these numbers: they must not change.
  expect([
    ruleOfCells({ decimal: '.' }),
    ruleOfCells({ decimal: ',', dateFormat: 'd.m.y' }),
    ruleOfCells({ dateFormat: 'm/d/y' }),
  ]).toEqual([19, 99, 195]);
  for (const rule of [1, 2, ...formed])
    expect([joinedRule(rule, currentRule), joinedRule(currentRule, rule)]).toEqual([rule, rule]);
  for (const a of formed) for (const b of formed) expect(joinedRule(a, b)).toBe(joinedRule(b, a));
});

const big = '9007199254740993';
const bigText = `"${big}"`;

/**
 * A value that came as JSON or as a cell, the type of its column, how it reads, and the first rule by which it fits.
 */
test.each<readonly [form: 'received' | 'cells', token: string, type: ColumnType, read: string, since: Rule]>([
  ['received', big, 'string', bigText, 3],
  ['received', big, 'markdown', bigText, 3],
  ['received', big, 'json', bigText, 3],
  ['received', `[1,${big}]`, 'array<string>', `["1",${bigText}]`, 3],
  ['received', `[${big}]`, 'json', `[${bigText}]`, 3],
  ['received', `{"a":${big}}`, 'json', `{"a":${bigText}}`, 3],
  ['received', big, 'array<string>', `[${bigText}]`, 3],
  ['received', `{"a":${big}.0}`, 'json', `{"a":${big}.0}`, 1],
  ['received', '[1,2]', 'array<string>', '["1","2"]', 1],
  ['cells', bigText, 'string', bigText, 1],
  ['cells', bigText, 'array<string>', `[${bigText}]`, 1],
  ['cells', bigText, 'json', bigText, 3],
  ['cells', `"No ${big}"`, 'array<markdown>', `["No ${big}"]`, 1],
  ['cells', `"id:${big}"`, 'array<uri>', `["id:${big}"]`, 1],
  ['cells', `"id:${big}"`, 'uri', `"id:${big}"`, 1],
  ['cells', `"[1,${big}]"`, 'array<string>', `["1",${bigText}]`, 3],
  ['cells', `"[1,${big}]"`, 'string', `"[1,${big}]"`, 1],
  ['cells', `"[${big}]"`, 'json', `[${bigText}]`, 3],
  ['cells', '"[9]"', 'array<string>', '["9"]', 1],
  ['cells', '12', 'string', '"12"', 1],
])('what came %s as %s in a column of %s reads %s since rule %i', (stored, token, type, read, since) => {
  const schema = schemaOf([{ id: 'c', type }], 1n);
  for (const rule of rules) {
    const body = presenterOf(schema, { stored, decidedAt: 1n, wrap: true, rule })(`{"c":${token}}`);
    expect([rule, body]).toEqual([rule, rule >= since ? `{"c":${read}}` : '{}']);
    if (stored === 'received')
      expect([rule, applyPatch('{}', parseRow(`{"c":${token}}`), schema, true, rule).body]).toEqual([rule, body]);
  }
});
