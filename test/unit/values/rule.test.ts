/** What fits by the rule of its time (src/values/rule.ts). */
import { describe, expect, test } from '@jest/globals';
import type { ColumnType } from '../../../src/values/column-type.ts';
import { applyPatch, presenterOf } from '../../../src/values/presentation.ts';
import { parseRow } from '../../../src/values/row-text.ts';
import { cellFormOf, currentRule, fitsBy, joinedRule, ruleOfCells } from '../../../src/values/rule.ts';
import { schemaOf } from '../../../src/values/table-schema.ts';

const extended = '"2024-03-01T10:00:00Z"';
const day = '"2024-03-01"';
const blank = '"2024-03-01 10:00"';
const basic = '"20240301T100000Z"';

/** A value, the type of its column, and whether it fits by the first rule. All fit by the second. */
const cases: readonly (readonly [token: string, type: ColumnType, byFirst: boolean])[] = [
  [extended, 'dateTime', true], [day, 'dateTime', true], [blank, 'dateTime', false], [basic, 'dateTime', false],
  [`[${extended},${day}]`, 'array<dateTime>', true], ['[]', 'array<dateTime>', true],
  [`[${extended},${blank}]`, 'array<dateTime>', false], [`[${basic}]`, 'array<dateTime>', false],
  [blank, 'string', true], [basic, 'json', true], [`[${blank}]`, 'array<string>', true], ['1', 'number', true],
];

describe.each(cases)('%s in a column of %s', (token, type, byFirst) => {
  const column = [{ id: 'c', type }];

  test('fits, or not', () => {
    expect(fitsBy(2, token, type)).toBe(true);
    expect(fitsBy(1, token, type)).toBe(byFirst);
  });

  test.each([[1, byFirst], [2, true], [3, true]] as const)('as it is read and patched by rule %i', (rule, fits) => {
    const body = `{"c":${token}}`;
    const kept = fits ? body : '{}';
    expect(presenterOf(schemaOf(column, 1n), { stored: 'received', decidedAt: 1n, wrap: false, rule })(body)).toBe(kept);
    const cell = `{"c":${JSON.stringify(type === 'string' || !token.startsWith('"') ? token : JSON.parse(token))}}`;
    const ofCell = type === 'string' ? cell : kept;
    if (type !== 'json') expect(presenterOf(schemaOf(column, 1n), { stored: 'cells', decidedAt: 1n, wrap: false, rule })(cell)).toBe(ofCell);
    expect(applyPatch('{}', parseRow(body), schemaOf(column, 1n), false, rule).body).toBe(kept);
  });
});

test('a scalar that is wrapped fits by the rule too', () => {
  const column = schemaOf([{ id: 'c', type: 'array<dateTime>' }], 1n);
  const read = (rule: 1 | 2): string => presenterOf(column, { stored: 'received', decidedAt: 1n, wrap: true, rule })(`{"c":${blank}}`);
  expect([read(1), read(2)]).toEqual(['{}', `{"c":[${blank}]}`]);
  const patched = (rule: 1 | 2): string => applyPatch('{}', parseRow(`{"c":${basic}}`), column, true, rule).body;
  expect([patched(1), patched(2)]).toEqual(['{}', `{"c":[${basic}]}`]);
});

test.each([
  [1, '{}', '{}'], [2, '{}', '{}'], [3, '{"c":0.5}', '{"c":[0.5]}'],
])('by rule %i a cell .5 reads %s in a column of numbers, and %s in one of arrays', (rule, read, wrapped) => {
  const readAs = (type: ColumnType): string => presenterOf(schemaOf([{ id: 'c', type }], 1n), { stored: 'cells', decidedAt: 1n, wrap: true, rule })('{"c":".5"}');
  expect([readAs('number'), readAs('array<number>'), readAs('string')]).toEqual([read, wrapped, '{"c":".5"}']);
});

test('the number of a rule says how cells are written', () => {
  const all = ([undefined, '.', ','] as const).flatMap((decimal) => ([undefined, 'd.m.y', 'd/m/y', 'm/d/y'] as const).map((dateFormat) => {
    return { ...(decimal && { decimal }), ...(dateFormat && { dateFormat }) };
  }));
  const rules = all.map(ruleOfCells);
  expect(rules.map(cellFormOf)).toEqual(all.map(({ decimal = 'plain', dateFormat = null }) => ({ numbers: decimal, dateFormat })));
  expect(new Set(rules).size).toBe(12);
  expect(ruleOfCells({})).toBe(currentRule);
  // Events hold these numbers: they must not change.
  expect([ruleOfCells({ decimal: '.' }), ruleOfCells({ decimal: ',', dateFormat: 'd.m.y' }), ruleOfCells({ dateFormat: 'm/d/y' })]).toEqual([19, 99, 195]);
  for (const rule of [1, 2, ...rules]) expect([joinedRule(rule, currentRule), joinedRule(currentRule, rule)]).toEqual([rule, rule]);
  for (const a of rules) for (const b of rules) expect(joinedRule(a, b)).toBe(joinedRule(b, a));
});
