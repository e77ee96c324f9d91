/** Rows for the tests of this folder: random ones, and the profile of some. */
import { fc } from '../../../support/property.ts';
import { ProfileBuilder } from '../../../../src/language/values/build-profile.ts';
import { classify } from '../../../../src/language/values/json-value.ts';
import { parseRow } from '../../../../src/language/values/row-text.ts';
import type { Cell } from '../../../../src/language/values/row-text.ts';
import { decodeString } from '../../../../src/language/values/json-text.ts';
import type { Profile } from '../../../../src/language/values/profile.ts';

/** Profiles rows as they came in, with nulls. `counts`: whether it counts cells by what they fit. */
export function profileOf(rows: readonly (readonly Cell[])[], counts = false): Profile {
  const builder = new ProfileBuilder(counts);
  let bytes = 0;
  let rowBytesMax = 0;
  for (const [row, cells] of rows.entries()) {
    for (const [position, { id, token }] of cells.entries()) {
      const column = builder.column(id, row, position);
      if (token === 'null') continue;
      if (token[0] === '"') {
        builder.addString(column, row, position, decodeString(token));
      } else {
        const { fits, natural, stored } = classify(token, builder.candidates(column));
        builder.add(column, row, position, fits, natural, stored, () => token);
      }
    }
    const rowBytes = cells.reduce((sum, { id, token }) => sum + id.length + token.length, 0);
    bytes += rowBytes;
    rowBytesMax = Math.max(rowBytesMax, rowBytes);
  }
  return builder.build(rows.length, bytes, rowBytesMax);
}

/** The profile of rows that are written as JSON objects. */
export function profileOfRows(...rows: readonly string[]): Profile {
  return profileOf(rows.map(parseRow));
}

/** The body with these cells, in their order. */
export function formatRow(cells: readonly Cell[]): string {
  return `{${cells.map(({ id, token }) => `${JSON.stringify(id)}:${token}`).join(',')}}`;
}

const anyScalarToken = fc.constantFrom(
  '1',
  '-2.50',
  '1e3',
  'true',
  'false',
  '"a"',
  '""',
  '"1"',
  '"2024-01-01"',
  '"2024-01-01T10:00Z"',
  '"20240101T1000"',
  '"10:30"',
  '"a:b"',
  '"a@b"',
  '"\\u0061\\""',
  '"😀"',
  '"P1D"',
  '"555-0100"',
  '9007199254740993',
);

export const anyToken = fc.oneof(
  { weight: 5, arbitrary: anyScalarToken },
  { weight: 2, arbitrary: fc.array(anyScalarToken, { maxLength: 3 }).map((tokens) => `[${tokens.join(', ')}]`) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('{}', '{"a":1}', '[null]', '[[1]]', '[{"b":null}]', '{"n":9007199254740993}'),
  },
);

const anyColumnId = fc.constantFrom('a', 'b', '10', '__proto__', 'e');

/** Rows whose columns stand in any order, some with null. */
export const anyRows = fc.array(
  fc.uniqueArray(
    fc.record({
      id: anyColumnId,
      token: fc.oneof({ weight: 9, arbitrary: anyToken }, { weight: 1, arbitrary: fc.constant('null') }),
    }),
    { selector: (cell) => cell.id, maxLength: 4 },
  ),
  { maxLength: 8 },
);
