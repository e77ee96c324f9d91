import { describe, expect, test } from '@jest/globals';

import { formatByteSize, parseByteSize } from '../../../src/language/byte-size.ts';

describe('a size', () => {
  test.each<[text: string, bytes: number]>([
    ['0', 0],
    ['1', 1],
    ['007', 7],
    ['9007199254740991', 9_007_199_254_740_991],
    ['12B', 12],
    ['12 B', 12],
    ['1kB', 1000],
    ['1KB', 1000],
    ['1KiB', 1024],
    ['500MB', 500_000_000],
    ['500mb', 500_000_000],
    ['1MiB', 1_048_576],
    ['10 GiB', 10_737_418_240],
    ['3GB', 3_000_000_000],
    ['2TB', 2e12],
    ['2TiB', 2_199_023_255_552],
    ['9PB', 9e15],
    ['7PiB', 7_881_299_347_898_368],
  ])('the size %s is read in bytes', (text, bytes) => expect(parseByteSize(text)).toBe(bytes));

  test.each([
    '',
    ' ',
    'B',
    'GB',
    '-1',
    '+1',
    '1.5GB',
    '1e3',
    '0x10',
    '1,000',
    ' 1',
    '1 ',
    '1  GB',
    '1\tGB',
    '1G',
    '1 Gi',
    '1EB',
    '1MBB',
    '1 MB/s',
    '9007199254740992',
    '10PB',
    '8PiB',
    '1'.repeat(400),
    'unlimited',
    '١',
  ])('%j is no size', (text) => expect(parseByteSize(text)).toBeNull());
});

test.each([
  [0, '0 bytes'],
  [1023, '1023 bytes'],
  [1024, '1 KiB'],
  [1025, '1025 bytes'],
  [1_000_000, '1 MB'],
  [2 ** 30, '1 GiB'],
  [10_000_000_000, '10 GB'],
  [1_024_000, '1000 KiB'],
  [1_000_001, '1000001 bytes'],
  [1536 * 1024, '1536 KiB'],
  [5 * 2 ** 50, '5 PiB'],
  [2 ** 53 - 1, '9007199254740991 bytes'],
])('%d bytes are written as %s, and are read back equal', (bytes, text) => {
  expect(formatByteSize(bytes)).toBe(text);
  expect(parseByteSize(text.replace('bytes', 'B'))).toBe(bytes);
});
