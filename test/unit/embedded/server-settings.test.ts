import { expect, test } from '@jest/globals';
import { memoryOfMachine, serverSettings } from '../../../src/embedded/server-settings.ts';

const GiB = 1024 ** 3;

test.each([
  [GiB / 2, '64MB'],
  [2 * GiB, '64MB'],
  [4 * GiB, '128MB'],
  [8 * GiB, '256MB'],
  [64 * GiB, '256MB'],
])('of %d bytes of memory, an embedded Postgres takes %s for its buffers', (memory, buffers) => {
  expect(serverSettings(memory)['shared_buffers']).toBe(buffers);
});

test('the memory of this machine is known', () => {
  expect(memoryOfMachine()).toBeGreaterThan(GiB / 4);
  expect(memoryOfMachine()).toBeLessThan(Infinity);
});
