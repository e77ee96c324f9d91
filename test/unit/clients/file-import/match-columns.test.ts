import { expect, test } from '@jest/globals';
import { matchColumns, type NamedColumn } from '../../../../clients/file-import/match-columns.ts';

test.each<[string, string[], NamedColumn[], Record<string, string>, string[]]>([
  ['IDs', ['a', 'x'], [{ id: 'a', displayName: 'x2' }], {}, []],
  [
    'display names',
    ['Full name', 'a'],
    [{ id: 'name', displayName: 'Full name' }, { id: 'a' }],
    { 'Full name': 'name' },
    ['Full name'],
  ],
  [
    'IDs before display names',
    ['name', 'b'],
    [
      { id: 'a', displayName: 'name' },
      { id: 'name', displayName: 'b' },
    ],
    {},
    [],
  ],
  [
    'no display name of two columns',
    ['n'],
    [
      { id: 'a', displayName: 'n' },
      { id: 'b', displayName: 'n' },
    ],
    {},
    [],
  ],
  ['no column that another name means', ['a', 'n'], [{ id: 'a', displayName: 'n' }], {}, []],
  [
    'other normal forms',
    ['e\u0301', 'u\u0308'],
    [{ id: '\u00e9' }, { id: 'x', displayName: '\u00fc' }],
    { 'u\u0308': 'x' },
    ['u\u0308'],
  ],
  [
    'an ID that is not in NFC',
    ['e\u0301', '\u00fc'],
    [{ id: 'e\u0301' }, { id: 'u\u0308' }],
    { 'e\u0301': 'e\u0301', '\u00fc': 'u\u0308' },
    [],
  ],
  [
    'both normal forms of one name: each means itself',
    ['e\u0301', '\u00e9'],
    [{ id: 'e\u0301' }, { id: '\u00e9' }],
    { 'e\u0301': 'e\u0301' },
    [],
  ],
  [
    'a third form of a name that the table has in two: the one in NFC',
    ['a\u0307\u0323'],
    [{ id: '\u0227\u0323' }, { id: '\u1ea1\u0307' }],
    {},
    [],
  ],
  ['no row IDs, and no empty names', ['$rowID', ''], [{ id: 'a', displayName: '$rowID' }], {}, []],
])('columns are matched by %s', (_what, names, table, columns, byDisplayName) => {
  const matched = matchColumns(names, table);
  expect([{ ...matched.columns }, matched.byDisplayName]).toEqual([columns, byDisplayName]);
});
