import { expect, test } from '@jest/globals';
import { fc } from '../../../support/property.ts';
import { formatRowId, rowIdPrefix } from '../../../../src/language/events/row-id.ts';
import { RowsJson } from '../../../../projections/tables/rows-json.ts';

const someRow = fc.dictionary(
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.string({ unit: 'grapheme', maxLength: 200 }),
);

test('rows are the JSON of their IDs and bodies, however little memory was reserved', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(2 ** 31 - 1), someRow), { maxLength: 30 }),
      fc.nat(20),
      fc.nat(2000),
      fc.bigInt(1n, 2n ** 62n),
      (rows, count, bytes, version) => {
        const json = new RowsJson(count, bytes);
        for (const [index, row] of rows) json.add(rowIdPrefix(version, 7), index, JSON.stringify(row));
        expect(json.count).toBe(rows.length);
        const shown = JSON.parse(json.page('x').toString('utf8'));
        const expected = rows.map(([index, row]) =>
          Object.entries({ $rowID: formatRowId({ version, ordinal: 7, index }), ...row }),
        );
        expect(shown.data.map((row: object) => Object.entries(row))).toEqual(expected);
        expect(shown.continuation).toBe('x');
      },
    ),
  );
});
