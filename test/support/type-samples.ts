/** Values of every column type, and whether a table accepts them. */
import type { ScalarKind } from '../../src/language/values/column-type.ts';
import type { Client } from './client.ts';
import { typeInSchema, type Json } from './column-types.ts';
import { createTable, type MadeTable } from './tables.ts';

const texts = ['', 'plain text', 'äöü 😀', 'true', '1'];
const uris = [
  'https://example.com/a?b=c#d',
  'mailto:a@b.c',
  'urn:isbn:0451450523',
  'data:,x',
  'a:b',
  'HTTP://EXAMPLE.COM/%20',
];
const days = ['2024-02-29', '1999-12-31', '0001-01-01', '9999-12-31', '2000-02-29'];
const moments = [
  '2024-02-29T23:59:59Z',
  '2024-01-01T00:00',
  '2024-01-01T00:00:00',
  '2024-01-01T12:30:15.123456+02:00',
  '2024-01-01T12:30-11:30',
];
/** These fit `dateTime`, but their natural type is text. */
const otherMoments = [
  '2024-02-29 23:59:59Z',
  '2024-01-01 00:00',
  '20240229T235959Z',
  '20240101T123015.123456+0200',
  '20240101T1230',
];

interface Sample {
  readonly fit: Json[];
  readonly misfit: Json[];
}

/** Values that fit each scalar type, and values that do not. */
const samples = {
  string: { fit: [...texts, ...uris, ...days, 1, 2.5, true, false], misfit: [] },
  markdown: { fit: [...texts, '# Title\n\n* item', 1, 2.5, true], misfit: [] },
  uri: {
    fit: uris,
    misfit: [
      '',
      'example.com',
      '/a/b',
      '//example.com/a',
      'https://exa mple.com',
      'https:',
      ':a',
      '1a:b',
      ' a:b',
      'a:b ',
      'a:\nb',
      1,
      true,
    ],
  },
  imageURI: { fit: uris, misfit: ['', 'example.com', 'a.png', 'https://a b', 1, false] },
  audioURI: { fit: uris, misfit: ['', 'example.com', 'a.mp3', 'https://a b', 1, false] },
  emailAddress: {
    fit: ['a@b', 'first.last+tag@sub.example.com', '.@b', "!#$%&'*/=?^_`{|}~-@b-c.d", `a@${'b'.repeat(63)}.c`],
    misfit: [
      '',
      'a',
      '@b',
      'a@',
      'a@b@c',
      'a@-b',
      'a@b-',
      'a@b..c',
      'a b@c',
      'a@b c',
      'ä@b.c',
      'a@ä.c',
      `a@${'b'.repeat(64)}`,
      '<a@b>',
      1,
    ],
  },
  phoneNumber: {
    fit: [
      '123',
      '+49 30 1234567',
      '(030) 123-456',
      '030.123.456',
      '+1 (555) 010-9999 x123',
      '5550100x9',
      '1'.repeat(32),
    ],
    misfit: [
      '',
      '12',
      '1'.repeat(33),
      '+',
      'abc',
      '123a',
      '12+3',
      '++123',
      '123x',
      'x123',
      '1/23',
      '123\n',
      '１２３',
      123,
    ],
  },
  emoji: {
    fit: ['😀', '❤️', '👨‍👩‍👧‍👦', '🇩🇪', '1️⃣', '👍🏽', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '🏳️‍🌈', '⌚'],
    misfit: ['', 'a', '1', '😀😀', '😀 ', ' 😀', '❤', '🇩', '\u200d', '\ufe0f', 'a😀', 1],
  },
  date: {
    fit: days,
    misfit: [
      '',
      '2023-02-29',
      '1900-02-29',
      '2024-13-01',
      '2024-00-01',
      '2024-01-00',
      '2024-04-31',
      '24-01-01',
      '2024-1-1',
      '20240101',
      '2024-01-01 ',
      '+2024-01-01',
      '2024-01',
      ...moments,
      ...otherMoments,
      20240101,
    ],
  },
  time: {
    fit: ['00:00', '23:59', '12:30:15', '12:30:15.5', '12:30:15.123', '12:30Z', '12:30:15+02:00', '12:30-05:30'],
    misfit: [
      '',
      '24:00',
      '12:60',
      '12:30:61',
      '1:30',
      '12',
      '1230',
      '12:30 ',
      '12:30:',
      '12:30:15.',
      '12:30+25:00',
      '12:30 PM',
      1230,
      ...days,
    ],
  },
  dateTime: {
    fit: [...days, ...moments, ...otherMoments],
    misfit: [
      '',
      '20240101',
      '20240101 123015',
      '2024-01-01  12:30',
      '2023-02-29T00:00:00Z',
      '2024-01-01T24:30:00Z',
      '2024-01-01T12:60:00Z',
      '2024-01-01T',
      '2024-01-01T12',
      '2024-01-01T12:30:15.Z',
      '2024-01-01T12:30ZZ',
      '2024-01-01T12:30:15+2',
      '1704067200',
      'now',
      1704067200,
    ],
  },
  duration: {
    fit: ['P1D', 'P1Y2M3DT4H5M6S', 'PT0S', 'P4W', 'PT1.5S', 'P1Y', 'PT36H', 'PT1M'],
    misfit: ['', 'P', 'PT', 'P1', '1D', 'P1DT', 'P1S', 'PT1D', 'P1M1Y', 'p1d ', 'P1D ', '1:30', 60],
  },
  number: { fit: [0, -1, 1.5, 1e300, -2.5e-10, 9007199254740992], misfit: ['1', '', '1.5', true, 'NaN'] },
  boolean: { fit: [true, false], misfit: ['true', '', 0, 1] },
  json: { fit: ['', 'x', 1, true, [], [1, 'x', null], [[1]], {}, { a: { b: [null, { c: 1 }] } }], misfit: [] },
} satisfies Readonly<Record<ScalarKind, Sample>>;

export const values: Readonly<Record<string, Sample>> = samples;
/** Adds each value in a row of its own. Resolves to the values as stored. */
export async function takenBy(
  reader: Client,
  table: MadeTable,
  cells: readonly Json[],
  mode: string,
): Promise<(Json | undefined)[]> {
  if (cells.length === 0) return [];
  const added = await reader.post(
    `${table.path}?onSchemaError=${mode}`,
    cells.map((c) => ({ c })),
  );
  if (added.status !== 201) throw new Error(added.text);
  const rows = await reader.rows(table.id);
  return rows.slice(-cells.length).map((row) => row['c'] as Json | undefined);
}

/** Values that distinguish the types of columns: columns of different types drop different ones under `dropColumns`. */
const probes: Json[] = [
  true,
  1,
  '2020-01-01',
  '2020-01-01T00:00:00Z',
  'a:b',
  'text',
  '1:2',
  '12:30',
  '+123456',
  'a@b',
  '😀',
  'P1D',
  {},
  [true],
  [1],
  ['2020-01-01'],
  ['2020-01-01T00:00:00Z'],
  ['a:b'],
  ['text'],
  ['12:30'],
  ['+123456'],
  ['a@b'],
  ['😀'],
  ['P1D'],
  [{}],
];

export async function signatureOf(reader: Client, table: MadeTable): Promise<string> {
  return JSON.stringify(await takenBy(reader, table, probes, 'dropColumns'));
}

/** The signature of each type, from a column declared with it. */
const signatures = new Map<string, string>();

export async function signatureOfType(client: Client, type: string): Promise<string> {
  let signature = signatures.get(type);
  if (signature === undefined) {
    signature = await signatureOf(client, await createTable(client, [], { c: typeInSchema(type) }));
    signatures.set(type, signature);
  }
  return signature;
}
