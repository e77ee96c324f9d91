import { describe, expect, test } from '@jest/globals';
import { fc } from '../../../../support/property.ts';

import {
  formatRowsContinuation,
  formatListContinuation,
  formatTablesContinuation,
  parseRowsContinuation,
  parseListContinuation,
  parseTablesContinuation,
} from '../../../../../src/api/http/requests/continuation.ts';
import { HttpError } from '../../../../../src/api/http/answers/http-error.ts';

const version = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n });
const position = fc.record({ generation: version, version, ordinal: fc.nat(2 ** 31 - 1), index: fc.nat(2 ** 30) });
const table = '01890000-0000-7000-8000-000000000000';

const here = formatRowsContinuation(table, { generation: 10n, version: 20n, ordinal: 1, index: 7 });

describe('a continuation', () => {
  test('contains its position, in characters that a query takes unchanged', () => {
    fc.assert(
      fc.property(fc.uuid(), position, (tableId, place) => {
        const text = formatRowsContinuation(tableId, place);
        expect(text).toMatch(/^[A-Za-z0-9_-]{40}$/);
        expect(parseRowsContinuation(tableId, text)).toEqual(place);
      }),
    );
  });

  test('is understood by later versions', () => {
    const bytes = Buffer.from(here, 'base64url');
    expect(bytes.subarray(0, 24).toString('hex')).toBe('000000000000000a00000000000000140000000100000007');
  });

  test('that was changed anywhere is refused', () => {
    const letters = 'AZaz09_-';
    fc.assert(
      fc.property(fc.nat(here.length - 1), fc.constantFrom(...letters), (at, letter) => {
        fc.pre(here[at] !== letter);
        expect(() => parseRowsContinuation(table, here.slice(0, at) + letter + here.slice(at + 1))).toThrow(HttpError);
      }),
    );
  });

  test.each([
    ['nothing', ''],
    ['cut short', here.slice(0, -1)],
    ['too long', `${here}AAAA`],
    ['padded', `${here}=`],
    ['something else', 'page-2'],
  ])('is never: %s', (_name, text) => {
    expect(() => parseRowsContinuation(table, text)).toThrow(
      'query.continuation: no page of this table has returned this continuation.',
    );
  });

  test('belongs to its table', () => {
    expect(() => parseRowsContinuation(table.replace('7', '6'), here)).toThrow(HttpError);
  });
});

describe('a continuation of a list of operators', () => {
  test('contains its position, and belongs to its table', () => {
    fc.assert(
      fc.property(fc.uuid(), (id) => {
        const text = formatListContinuation('teams', id);
        expect(text).toMatch(/^[A-Za-z0-9_-]{40}$/);
        expect(parseListContinuation('teams', text)).toBe(id);
        expect(() => parseListContinuation('tokens', text)).toThrow(
          'query.continuation: no page of this list has returned this continuation.',
        );
      }),
    );
  });
});

describe('a continuation of tables', () => {
  const tables = formatTablesContinuation(table, { created: 10n, id: table });

  test('contains its position, in characters that a query takes unchanged', () => {
    fc.assert(
      fc.property(fc.uuid(), version, fc.uuid(), (teamId, created, id) => {
        const text = formatTablesContinuation(teamId, { created, id });
        expect(text).toMatch(/^[A-Za-z0-9_-]{40}$/);
        expect(parseTablesContinuation(teamId, text)).toEqual({ created, id });
      }),
    );
  });

  test('is understood by later versions', () => {
    expect(Buffer.from(tables, 'base64url').subarray(0, 24).toString('hex')).toBe(
      '000000000000000a01890000000070008000000000000000',
    );
  });

  test.each([
    ['nothing', table, ''],
    ['cut short', table, tables.slice(0, -1)],
    ["another team's", table.replace('7', '6'), tables],
    [
      'of a version that Postgres cannot hold',
      table,
      formatTablesContinuation(table, { created: 2n ** 63n, id: table }),
    ],
  ])('is never: %s', (_name, teamId, text) => {
    expect(() => parseTablesContinuation(teamId, text)).toThrow(
      'query.continuation: no page of these tables has returned this continuation.',
    );
  });
});
