import { describe, expect, test } from '@jest/globals';

import { parseByteSize } from '../../../src/cli/byte-size.ts';

describe('a size', () => {
  test.each<[text: string, bytes: number]>([
    ['0', 0], ['1', 1], ['007', 7], ['9007199254740991', 9_007_199_254_740_991], ['12B', 12], ['12 B', 12],
    ['1kB', 1000], ['1KB', 1000], ['1KiB', 1024], ['500MB', 500_000_000], ['500mb', 500_000_000], ['1MiB', 1_048_576],
    ['10 GiB', 10_737_418_240], ['3GB', 3_000_000_000], ['2TB', 2e12], ['2TiB', 2_199_023_255_552], ['9PB', 9e15],
    ['7PiB', 7_881_299_347_898_368],
  ])('%s', (text, bytes) => expect(parseByteSize(text)).toBe(bytes));

  test.each([
    '', ' ', 'B', 'GB', '-1', '+1', '1.5GB', '1e3', '0x10', '1,000', ' 1', '1 ', '1  GB', '1\tGB', '1G', '1 Gi', '1EB', '1MBB', '1 MB/s',
    '9007199254740992', '10PB', '8PiB', '1'.repeat(400), 'unlimited', '١',
  ])('%j is none', (text) => expect(parseByteSize(text)).toBeNull());
});
