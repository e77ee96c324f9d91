import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { allTypes, columnTypes, scalarTypes, typeBit, typeSet } from '../../../../src/language/values/column-type.ts';
import type { ScalarKind } from '../../../../src/language/values/column-type.ts';
import { leastUpperBound } from '../../../../src/language/values/lattice.ts';
import { isEmailAddress, isEmoji } from '../../../../src/language/values/scan-text.ts';
import { isDate, isDateTime } from '../../../../src/language/values/scan-time.ts';
import { isSettledForStrings, naturalOfString, stringTypes } from '../../../../src/language/values/string-types.ts';

const long = (length: number): string => 'a'.repeat(length);

/** What fits each type, and what does not. */
const cases: Partial<Record<ScalarKind, { fits: string[]; misfits: string[] }>> = {
  uri: {
    fits: ['http://a.b', 'mailto:a@b.c', 'urn:isbn:1', 'x-y+z.1:q', 'https://münchen.example/ä?q=1#f', 'data:,x'],
    misfits: [
      '',
      'a',
      'a.b/c',
      '//a.b',
      'http:',
      '1http://a',
      ':a',
      'http://a b',
      ' http://a',
      'http://a\n',
      'a:\u00a0',
      'a:b\u3000',
    ],
  },
  emailAddress: {
    fits: ['a@b', 'a.b+c@d.example', "!#$%&'*+/=?^_`{|}~-@b", '.a.@b', `a@${long(63)}.b`, 'A@B-C.D1'],
    misfits: [
      '',
      '@',
      'a@',
      '@b',
      'a b@c',
      'a@b c',
      'a@-b',
      'a@b-',
      'a@b..c',
      'a@.b',
      'a@b.',
      `a@${long(64)}`,
      'ä@b',
      'a@ä',
      'a@b@c',
      'a@b_c',
    ],
  },
  phoneNumber: {
    fits: ['112', '+49 (30) 123-45.6', '(030) 1234567', '+1-800-555-0100 x12', '1'.repeat(32), '(+49)123', '5550100X7'],
    misfits: [
      '',
      '12',
      '1'.repeat(33),
      '+',
      '12+3',
      '++123',
      '123x',
      '123x4x5',
      'x123',
      '123/456',
      '123 ext 4',
      '1234a',
    ],
  },
  emoji: {
    fits: [
      '😀',
      '❤️',
      '🇩🇪',
      '1️⃣',
      '#⃣',
      '👨‍👩‍👧‍👦',
      '👍🏽',
      '☝🏽',
      '🏴‍☠️',
      '🏳️‍🌈',
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
      '❤️‍🔥',
      '🏽',
      '™️',
    ],
    misfits: [
      '',
      'a',
      '1',
      '#',
      '😀😀',
      '❤',
      '🇩',
      '🇩🇪🇩',
      'a️',
      '1️',
      '😀 ',
      ' 😀',
      '😀‍',
      '‍😀',
      '👍a',
      '🏴\u{e0067}',
      '🏴\u{e0067}\u{e007f}\u{e0067}',
      '\ud83d',
    ],
  },
  date: {
    fits: ['2024-02-29', '2000-02-29', '0000-02-29', '1999-12-31', '9999-01-01'],
    misfits: [
      '',
      '2023-02-29',
      '1900-02-29',
      '2024-13-01',
      '2024-00-01',
      '2024-01-00',
      '2024-04-31',
      '2024-1-01',
      '20240101',
      '2024-01-01T',
      '2024/01/01',
      '-024-01-01',
      '02024-01-01',
      '٢٠٢٤-01-01',
    ],
  },
  time: {
    fits: [
      '00:00',
      '23:59',
      '12:30:45',
      '12:30:45.1',
      '12:30:45.123456789',
      '12:30Z',
      '12:30:45+02:00',
      '12:30-0530',
      '12:30+01',
    ],
    misfits: [
      '',
      '24:00',
      '12:60',
      '12:30:60',
      '1:30',
      '12',
      '12:3',
      '12:30:',
      '12:30:4',
      '12:30:45.',
      '12:30.5',
      '12:30z',
      '12:30+',
      '12:30+24:00',
      '12:30+01:60',
      '12:30+1',
      '12:30ZZ',
      '12:30+01:000',
      ' 12:30',
    ],
  },
  dateTime: {
    fits: [
      '2024-01-01',
      '2024-01-01T12:30',
      '2024-01-01T12:30:45Z',
      '2024-01-01T12:30:45.678+05:30',
      '2024-02-29T00:00',
      '2024-01-01 12:30',
      '2024-01-01 12:30:45.678Z',
      '20240301T100000Z',
      '20240229T1030',
      '20240301T103015.5+0200',
      '20240301T1030-05',
      '99991231T235959+01:00',
    ],
    misfits: [
      '2024-01-01  12:30',
      '2024-01-01 ',
      '2024-01-01 12',
      '2024-01-01 24:00',
      '2024-01-01T1230',
      '2024-01-01 1230',
      '20240301',
      '20240301T',
      '20240301T10',
      '20240301T10:00',
      '20240301 100000Z',
      '20230229T1000',
      '20240301T2400',
      '20240301T1060',
      '20240301T100060',
      '20240301T10000',
      '20240301T1000.5',
      '20240301T100000.',
      '2024031T100000',
      '',
      '2023-02-29T12:00',
      '2024-01-01T',
      '2024-01-01T24:00',
      '2024-01-01t12:30',
      '12:30',
      '2024-01-01T12',
      '2024-01-01Z',
    ],
  },
  duration: {
    fits: [
      'P1Y',
      'P1Y2M3D',
      'PT1S',
      'P3W',
      'P1DT12H',
      'PT0.5S',
      'PT1,5M',
      'P0.5W',
      'P1Y2M3DT4H5M6.7S',
      'P1M',
      'PT1M',
      'P0D',
    ],
    misfits: [
      '',
      'P',
      'PT',
      'P1',
      '1D',
      'P1DT',
      'PT1',
      'P1H',
      'PT1D',
      'P1D2M',
      'P1W2D',
      'P1Y1W',
      'P0.5DT1H',
      'P.5D',
      'P1.D',
      '-P1D',
      'p1d',
      'PT1S1M',
      'P1YY',
      'PT1HT1M',
      'P1D ',
    ],
  },
};

describe.each(Object.entries(cases))('%s', (kind, { fits, misfits }) => {
  const bit = typeBit(kind as ScalarKind);
  test.each(fits)('the type accepts %j', (text) => expect(stringTypes(text, scalarTypes) & bit).toBe(bit));
  test.each(misfits)('the type does not accept %j', (text) => expect(stringTypes(text, scalarTypes) & bit).toBe(0));
});

describe('the types of a string', () => {
  test('are among the candidates, and the same for any candidates', () => {
    const samples = Object.values(cases).flatMap(({ fits, misfits }) => [...fits, ...misfits]);
    const set = fc.integer({ min: 0, max: allTypes });
    fc.assert(
      fc.property(fc.oneof(fc.constantFrom(...samples), fc.string({ unit: 'binary' })), set, (text, candidates) => {
        expect(stringTypes(text, candidates)).toBe(stringTypes(text, allTypes) & candidates);
      }),
      { numRuns: 2000 },
    );
  });

  test('always hold string, markdown and json, and the URIs together', () => {
    expect(stringTypes('', allTypes)).toBe(typeSet('string', 'markdown', 'json'));
    expect(stringTypes('true', allTypes)).toBe(typeSet('string', 'markdown', 'json'));
    expect(stringTypes('a:b', allTypes)).toBe(typeSet('string', 'markdown', 'json', 'uri', 'imageURI', 'audioURI'));
  });

  test.each([
    ['2024-02-29', 'date'],
    ['2024-02-29T10:00Z', 'dateTime'],
    ['2024-02-29 10:00Z', 'dateTime'],
    ['20240229T100000Z', 'string'],
    ['2023-02-29', 'string'],
    ['10:00', 'string'],
    ['', 'string'],
  ])('%j is naturally a %s', (text, natural) => expect(naturalOfString(text)).toBe(natural));

  test('no string changes a natural type that is settled', () => {
    for (const type of columnTypes) {
      const naturals = (['date', 'dateTime', 'string'] as const).map((natural) => leastUpperBound(type, natural));
      expect([type, isSettledForStrings(type)]).toEqual([type, naturals.every((bound) => bound === type)]);
    }
    expect(isSettledForStrings(null)).toBe(false);
  });
});

describe('comparison with independent sources', () => {
  test('every emoji that Unicode recommends in one code point or with VS16 fits', () => {
    for (let code = 0; code <= 0x1ffff; code += 1) {
      if (code >= 0xd800 && code <= 0xdfff) continue;
      for (const text of [String.fromCodePoint(code), `${String.fromCodePoint(code)}\ufe0f`]) {
        if (/^\p{RGI_Emoji}$/v.test(text)) expect([text, isEmoji(text)]).toEqual([text, true]);
      }
    }
  });

  test('an emoji is one grapheme cluster', () => {
    const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });
    const part = fc.constantFrom(
      '😀',
      '❤',
      '\ufe0f',
      '\u200d',
      '🏽',
      '🇩',
      '🇪',
      '1',
      '\u20e3',
      '👩',
      '🏴',
      '\u{e0067}',
      '\u{e007f}',
      'a',
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
        const text = parts.join('');
        if (isEmoji(text)) expect([...segmenter.segment(text)]).toHaveLength(1);
      }),
      { numRuns: 5000 },
    );
  });

  test('e-mail addresses are those of the HTML standard', () => {
    const standard = new RegExp(
      "^[a-zA-Z0-9.!#$%&'*+\\/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?" +
        '(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$',
    );
    const text = fc.string({ unit: fc.constantFrom('a', 'Z', '9', '.', '-', '@', '_', ' ', 'ä'), maxLength: 8 });
    fc.assert(
      fc.property(text, (address) => {
        expect(isEmailAddress(address)).toBe(standard.test(address));
      }),
      { numRuns: 5000 },
    );
  });

  test('days and moments are real ones', () => {
    const two = fc.integer({ min: 0, max: 61 }).map((n) => String(n).padStart(2, '0'));
    const year = fc.constantFrom('0004', '1900', '2000', '2023', '2024', '9999');
    fc.assert(
      fc.property(year, two, two, two, two, (y, month, day, hour, minute) => {
        const date = `${y}-${month}-${day}`;
        const parsed = new Date(`${date}T00:00:00Z`);
        const real = !Number.isNaN(parsed.getTime()) && parsed.toISOString().startsWith(date);
        expect([date, isDate(date)]).toEqual([date, real]);
        const moment = `${date}T${hour}:${minute}`;
        expect([moment, isDateTime(moment)]).toEqual([moment, real && hour < '24' && minute < '60']);
      }),
      { numRuns: 5000 },
    );
  });
});
