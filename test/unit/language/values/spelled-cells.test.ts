/** Numbers and dates as people write them in files (docs/spec/decisions.md 2, "Forms of CSV and TSV"). */
import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { dateFormats, type DateFormat } from '../../../../src/language/values/date-format.ts';
import { classifyCell, fitCell } from '../../../../src/language/values/cell-value.ts';
import {
  allTypes,
  columnTypes,
  isArrayType,
  typeBit,
  type ColumnType,
} from '../../../../src/language/values/column-type.ts';
import type { CellForm } from '../../../../src/language/values/rule.ts';
import { cellText } from './cell-texts.ts';

const written = (numbers: CellForm['numbers'], dateFormat: DateFormat | null = null): CellForm => ({
  numbers,
  dateFormat,
});

const fits = (text: string, type: ColumnType, form: CellForm): boolean =>
  (classifyCell(text, allTypes, form).fits & typeBit(type)) !== 0;

test.each<[text: string, comma: string | undefined, point: string | undefined]>([
  ['1.234,50', '1234.50', undefined],
  ['1,234.50', undefined, '1234.50'],
  ['1234,5', '1234.5', undefined],
  ['1,234', '1.234', '1234'],
  ['1.234', '1234', '1.234'],
  ['1.5', undefined, '1.5'],
  ['0.5', undefined, '0.5'],
  ['0,5', '0.5', undefined],
  ['1.234.567', '1234567', undefined],
  ['1,234,567', undefined, '1234567'],
  ['1 234 567', '1234567', '1234567'],
  ['1\u00a0234,5', '1234.5', undefined],
  ['1\u202f234', '1234', '1234'],
  ["1'234'567", '1234567', '1234567'],
  ['1\u2019234.5', undefined, '1234.5'],
  ["1'234 567", undefined, undefined],
  ['1.234 567', undefined, undefined],
  ['12.34.567', undefined, undefined],
  ['1234.567', undefined, '1234.567'],
  ['1.2345', undefined, '1.2345'],
  ['1 23', undefined, undefined],
  ['1  234', undefined, undefined],
  ['1 234 ', '1234', '1234'],
  ['0.123', undefined, '0.123'],
  ['0 123', undefined, undefined],
  ['-1.234,5e-3', '-1234.5e-3', undefined],
  ['+,5', '0.5', undefined],
  ['5,', '5', undefined],
  ['.5', undefined, '0.5'],
  ['12', '12', '12'],
  ['-0', '-0', '-0'],
  ['007', undefined, undefined],
  ['1e5', '1e5', '1e5'],
  ['31.12.2024', undefined, undefined],
  [',', undefined, undefined],
  ['1.234,', '1234', undefined],
  ['1.,5', undefined, undefined],
])('%j is the number %s with a decimal comma, and %s with a point', (text, comma, point) => {
  expect([fitCell(text, 'number', false, written(',')), fitCell(text, 'number', false, written('.'))]).toEqual([
    comma,
    point,
  ]);
  expect([fitCell(text, 'json', false, written(',')), fitCell(text, 'array<number>', true, written('.'))]).toEqual([
    comma,
    point === undefined ? undefined : `[${point}]`,
  ]);
  expect([fits(text, 'number', written(',')), fits(text, 'number', written('.'))]).toEqual([
    comma !== undefined,
    point !== undefined,
  ]);
  expect(fitCell(text, 'string', false, written(','))).toBe(JSON.stringify(text));
});

test('a number that a double cannot hold is a text', () => {
  expect(
    (['number', 'json', 'string'] as const).map((type) => fitCell('9.007.199.254.740.993', type, false, written(','))),
  ).toEqual([undefined, '"9007199254740993"', '"9.007.199.254.740.993"']);
});

test.each<[text: string, format: DateFormat, moment: string | undefined]>([
  ['31.12.2024', 'd.m.y', '2024-12-31'],
  ['1.2.2024', 'd.m.y', '2024-02-01'],
  ['01.02.2024', 'd.m.y', '2024-02-01'],
  ['31/12/2024', 'd/m/y', '2024-12-31'],
  ['12/31/2024', 'm/d/y', '2024-12-31'],
  ['1/2/2024', 'm/d/y', '2024-01-02'],
  ['1/2/2024', 'd/m/y', '2024-02-01'],
  ['2024-12-31', 'd.m.y', '2024-12-31'],
  ['29.02.2024', 'd.m.y', '2024-02-29'],
  ['29.02.2023', 'd.m.y', undefined],
  ['31.12.24', 'd.m.y', undefined],
  ['31.12.02024', 'd.m.y', undefined],
  ['31/12/2024', 'd.m.y', undefined],
  ['31/12/2024', 'm/d/y', undefined],
  ['12.31.2024', 'd.m.y', undefined],
  ['001.12.2024', 'd.m.y', undefined],
  ['.12.2024', 'd.m.y', undefined],
  ['31..2024', 'd.m.y', undefined],
  ['31.12.', 'd.m.y', undefined],
  [' 31.12.2024', 'd.m.y', undefined],
  ['31.12.2024 ', 'd.m.y', undefined],
  ['31.12.2024 9:05', 'd.m.y', '2024-12-31T09:05'],
  ['31.12.2024T09:05:06.70+01:00', 'd.m.y', '2024-12-31T09:05:06.70+01:00'],
  ['12/31/2024 9:05 PM', 'm/d/y', '2024-12-31T21:05'],
  ['12/31/2024 12:05:10am', 'm/d/y', '2024-12-31T00:05:10'],
  ['12/31/2024 12:05 pm', 'm/d/y', '2024-12-31T12:05'],
  ['12/31/2024 13:05 PM', 'm/d/y', undefined],
  ['12/31/2024 0:05 AM', 'm/d/y', undefined],
  ['12/31/2024 PM', 'm/d/y', undefined],
  ['31.12.2024 24:00', 'd.m.y', undefined],
  ['31.12.2024 9', 'd.m.y', undefined],
  ['31.12.2024 123:00', 'd.m.y', undefined],
  ['31.12.2024  9:00', 'd.m.y', undefined],
])('%j in the format %s is %s', (text, format, moment) => {
  const form = written('plain', format);
  const isDay = moment?.length === 10;
  const token = moment && JSON.stringify(moment);
  expect([fitCell(text, 'dateTime', false, form), fitCell(text, 'date', false, form)]).toEqual([
    token,
    isDay ? token : undefined,
  ]);
  expect([fits(text, 'dateTime', form), fits(text, 'date', form)]).toEqual([moment !== undefined, isDay]);
  expect(fitCell(text, 'string', false, form)).toBe(JSON.stringify(text));
  expect(classifyCell(text, allTypes, form).natural).toBe(
    moment === undefined ? 'string' : isDay ? 'date' : 'dateTime',
  );
});

describe('cells in a stated form', () => {
  const forms = (['plain', '.', ','] as const).flatMap((numbers) =>
    [null, ...dateFormats].map((format) => written(numbers, format)),
  );
  const anyForm = fc.constantFrom(...forms);

  test('fit exactly the types that can present them, also if fewer types are tested', () => {
    const text = fc.oneof(
      cellText,
      fc.string({ unit: fc.constantFrom(..."0129.,/ :'+-eT"), minLength: 1, maxLength: 12 }),
    );
    fc.assert(
      fc.property(
        text,
        fc.constantFrom(...columnTypes),
        anyForm,
        fc.nat({ max: allTypes }),
        (cell, type, form, candidates) => {
          const presented = fitCell(cell, type, false, form);
          if (!(type === 'json' && cell.trim() === 'null'))
            expect(fits(cell, type, form)).toBe(presented !== undefined);
          if (presented !== undefined) expect(() => JSON.parse(presented)).not.toThrow();
          // What is presented fits the type by the interface.
          if (presented !== undefined && !isArrayType(type) && type !== 'json')
            expect(fitCell(String(JSON.parse(presented)), type, false, written('json'))).toBeDefined();
          const all = classifyCell(cell, allTypes, form);
          expect(classifyCell(cell, candidates, form)).toEqual({ ...all, fits: all.fits & candidates });
        },
      ),
      { numRuns: 10_000 },
    );
  });

  test('that another writer made are the numbers that it wrote', () => {
    const number = fc.oneof(
      fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }),
      fc.maxSafeInteger(),
    );
    const grouping = fc.constantFrom('', ' ', "'", '\u00a0', 'other');
    fc.assert(
      fc.property(number, fc.constantFrom('.' as const, ',' as const), grouping, (value, mark, chosen) => {
        const separator = chosen === 'other' ? (mark === ',' ? '.' : ',') : chosen;
        const [sign, whole, fraction] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(value.toFixed(3))!.slice(1) as [
          string,
          string,
          string | undefined,
        ];
        const text = `${sign}${whole.replaceAll(/\B(?=(\d{3})+$)/g, separator)}${fraction === undefined ? '' : mark + fraction}`;
        expect([text, fitCell(text, 'number', false, written(mark))]).toEqual([
          text,
          Number.isSafeInteger(Math.trunc(value)) ? `${sign}${whole}.${fraction}` : expect.anything(),
        ]);
      }),
      { numRuns: 3_000 },
    );
  });

  test('that another writer made are the moments that it wrote', () => {
    const days = fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(
        days,
        fc.constantFrom(...dateFormats),
        fc.boolean(),
        fc.boolean(),
        (day, format, isPadded, hasTime) => {
          const iso = day.toISOString();
          const [y, m, d] = iso.slice(0, 10).split('-') as [string, string, string];
          const shown = { y, m: isPadded ? m : String(Number(m)), d: isPadded ? d : String(Number(d)) };
          const date = format.replaceAll(/[ymd]/g, (letter) => shown[letter as 'y' | 'm' | 'd']);
          const form = written(',', format);
          if (!hasTime) expect(fitCell(date, 'date', false, form)).toBe(`"${iso.slice(0, 10)}"`);
          else expect(fitCell(`${date} ${iso.slice(11)}`, 'dateTime', false, form)).toBe(`"${iso}"`);
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
