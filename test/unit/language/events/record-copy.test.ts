import { expect, test } from '@jest/globals';
import { unwrapCopy, wrapCopy } from '../../../../src/language/events/record-copy.ts';

const time = 1_767_225_600_123;

test('a copy always has the same bytes', () => {
  expect([...wrapCopy({ time, bytes: Buffer.from('ab') })]).toEqual([3, 0, 0, 1, 0x9b, 0x76, 0xda, 0xa8, 0x7b, 97, 98]);
});

test.each<[string, number[]]>([
  ['of the present format', [2, 0, 0, 0, 0, 0, 0, 2, 123, 125]],
  ['of the first format', [1, 0, 0, 0, 0, 0, 0, 2, 123, 125]],
  ['that is no record', []],
  ['that looks like a copy', [3, 0, 0, 0, 0, 0, 0, 0, 1, 9]],
])('what is copied comes back as it was: a record %s', (_name, record) => {
  // Within a larger buffer, as brokers deliver it.
  const stored = Buffer.concat([Buffer.from('before'), wrapCopy({ time, bytes: Uint8Array.from(record) })]).subarray(6);
  const copied = unwrapCopy(stored)!;
  expect(copied.time).toBe(time);
  expect([...copied.bytes]).toEqual(record);
});

test.each([[[]], [[2, 0, 0, 0, 0, 0, 0, 2, 123, 125]], [[1, 0, 0, 0, 0, 0, 0, 2, 123, 125]], [[3, 0, 0]]])(
  '%j is no copy',
  (stored) => {
    expect(unwrapCopy(Uint8Array.from(stored))).toBeNull();
  },
);
