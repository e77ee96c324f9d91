import { expect, test } from '@jest/globals';
import { memoryOfMachine, serverSettings, sizeOfDisk } from '../../../../src/storage/embedded/server-settings.ts';

const GiB = 1024 ** 3;

test.each([
  [GiB / 2, '64MB'],
  [2 * GiB, '64MB'],
  [4 * GiB, '128MB'],
  [8 * GiB, '256MB'],
  [64 * GiB, '512MB'],
])('with %d bytes of memory, an embedded Postgres takes %s for its buffers', (memory, buffers) => {
  expect(serverSettings({ memory, disk: 100 * GiB })['shared_buffers']).toBe(buffers);
});

test.each([
  [GiB, '256MB'],
  [4 * GiB, '256MB'],
  [10 * GiB, '640MB'],
  [16 * GiB, '1024MB'],
  [1000 * GiB, '1024MB'],
])('on a disk of %d bytes, the WAL of an embedded Postgres may take about %s', (disk, wal) => {
  expect(serverSettings({ memory: 4 * GiB, disk })['max_wal_size']).toBe(wal);
});

test('the memory of this machine is known', () => {
  expect(memoryOfMachine()).toBeGreaterThan(GiB / 4);
  expect(memoryOfMachine()).toBeLessThan(Infinity);
});

test('the size of the disk of this file is known', async () => {
  const size = await sizeOfDisk(import.meta.dirname);
  expect(size).toBeGreaterThan(GiB);
  expect(size).toBeLessThan(Infinity);
});
