/** Spec section 4.9, decisions 3: parts of files, as clients ask for them with Range and If-Range (RFC 9110). */
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { useApi } from '../support/api.ts';
import { digits, publicFilesOf } from '../support/public-files.ts';
import { upload } from '../support/uploads.ts';

const { api, client } = useApi();
const { get, outcome, uploadDigits } = publicFilesOf({ api });

let url = '';
let etag = '';
beforeAll(async () => {
  ({ url, etag } = await uploadDigits(client()));
});

describe('of a file of 100 bytes', () => {
  test.each<[string, number, number]>([
    ['bytes=0-0', 0, 0],
    ['bytes=0-9', 0, 9],
    ['bytes=50-59', 50, 59],
    ['bytes=99-99', 99, 99],
    ['bytes=90-', 90, 99],
    ['bytes=0-', 0, 99],
    ['bytes=-1', 99, 99],
    ['bytes=-100', 0, 99],
    ['bytes=-101', 0, 99],
    ['bytes=95-100', 95, 99],
    ['bytes=95-99999999999999999999999999', 95, 99],
    ['bytes=-99999999999999999999999999', 0, 99],
    ['bytes=007-008', 7, 8],
    ['BYTES=1-2', 1, 2],
  ])('%s is a part', async (range, start, end) => {
    const { status, headers, text: body } = await get(url, { range });
    expect([status, headers.get('content-range'), body]).toEqual([
      206,
      `bytes ${start}-${end}/100`,
      digits.slice(start, end + 1),
    ]);
    expect([headers.get('content-length'), headers.get('etag')]).toEqual([String(body.length), etag]);
  });

  test.each(['bytes=100-', 'bytes=100-200', 'bytes=99999999999999999999999999-', 'bytes=-0'])(
    'a file has no part %s',
    async (range) => {
      expect(await outcome(url, { range })).toBe('416 range_not_satisfiable');
      expect((await get(url, { range })).headers.get('content-range')).toBe('bytes */100');
    },
  );

  test.each([
    'bytes=0-1,5-6',
    'bytes=0-1,500-600',
    'bytes=500-600,700-800',
    'bytes=5-2',
    'bytes=500-400',
    'bytes=-',
    'bytes=',
    'bytes',
    'bytes=a-b',
    'bytes=1-2-3',
    'bytes=--1',
    'bytes=+1-2',
    'bytes=0x1-2',
    'bytes=1.5-2',
    'bytes 1-2',
    'lines=1-2',
    'lines=500-600',
    '1-2',
    'bytes=0-1,',
  ])('the range %s is ignored', async (range) => {
    const { status, headers, text: body } = await get(url, { range });
    expect([status, headers.get('content-range'), body]).toEqual([200, null, digits]);
  });

  test.each<[string, () => string, number]>([
    ['of the file', () => etag, 206],
    ['of another file', () => '"other"', 200],
    ['that is weak', () => `W/${etag}`, 200],
    ['that is a time', () => 'Wed, 21 Oct 2015 07:28:00 GMT', 200],
  ])('a part comes only to an If-Range %s', async (_what, ifRange, status) => {
    const answer = await get(url, { 'range': 'bytes=1-2', 'if-range': ifRange() });
    expect([answer.status, answer.text]).toEqual([status, status === 206 ? '12' : digits]);
    if (status === 200) expect(await outcome(url, { 'range': 'bytes=100-', 'if-range': ifRange() })).toBe('200');
  });

  test.each(['other', '*', '"a", "b"', '"a', '2015-10-21', ''])(
    'an If-Range of %j is refused, with and without a range, even if there is no file',
    async (value) => {
      for (const place of [url, new URL('/files/AAAAAAAAAAAAAAAAAAAAAA/a.txt', url).href]) {
        for (const headers of [{ 'if-range': value }, { 'range': 'bytes=1-2', 'if-range': value }])
          expect(await outcome(place, headers)).toBe('400 request_validation_error');
      }
    },
  );
});

test.each([
  [undefined, '200'],
  ['bytes=-5', '200'],
  ['bytes=0-', '416 range_not_satisfiable'],
  ['bytes=-0', '416 range_not_satisfiable'],
])('the range %s of an empty file is answered with %s', async (range, expected) => {
  const empty = await upload(client(), '');
  const headers: Readonly<Record<string, string>> = range === undefined ? {} : { range };
  expect(await outcome(empty.url, headers)).toBe(expected);
  expect((await get(empty.url, headers)).headers.get(expected === '200' ? 'content-length' : 'content-range')).toBe(
    expected === '200' ? '0' : 'bytes */0',
  );
});

test('parts of a large file are its bytes at that place', async () => {
  const bytes = randomBytes(1_000_000);
  const { url: large } = await upload(client(), bytes);
  for (const [start, end] of [
    [0, 65_535],
    [65_536, 65_536],
    [123_456, 654_321],
    [999_999, 999_999],
  ] as const) {
    const part = await fetch(large, { headers: { range: `bytes=${start}-${end}` } });
    expect(part.status).toBe(206);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(start, end + 1))).toBe(true);
  }
});
