/** What fits by the rule of its time (src/values/rule.ts). */
import { describe, expect, test } from '@jest/globals';
import type { ColumnType } from '../../../src/values/column-type.ts';
import { applyPatch, presenterOf } from '../../../src/values/presentation.ts';
import { parseRow } from '../../../src/values/row-text.ts';
import { fitsBy } from '../../../src/values/rule.ts';
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

  test.each([[1, byFirst], [2, true]] as const)('as it is read and patched by rule %i', (rule, fits) => {
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
