import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { FolderStore } from '../../../../src/operations/backup/folder-store.ts';
import {
  abandonedAfter,
  givenUpAfter,
  withStoreLease,
  type LeaseKind,
} from '../../../../src/operations/backup/store-lease.ts';

let folder: string;
let store: FolderStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-store-lease-'));
  store = await FolderStore.open(folder, { make: true });
});

afterEach(async () => {
  jest.restoreAllMocks();
  await rm(folder, { recursive: true, force: true });
});

const leases = (): Promise<string[]> => readdir(join(folder, 'running'));
const nothing = async (): Promise<void> => undefined;

test.each<[LeaseKind, LeaseKind, string | null]>([
  ['backup', 'removal', 'A backup is being taken here.'],
  ['removal', 'backup', 'Sets are being removed from here.'],
  ['backup', 'backup', null],
  ['removal', 'removal', null],
])('beside a %s, a %s is refused: %s', async (first, second, refusal) => {
  await withStoreLease(store, first, async () => {
    const other = withStoreLease(store, second, nothing);
    await (refusal === null ? other : expect(other).rejects.toThrow(refusal));
    expect(await leases()).toHaveLength(1);
  });
  expect(await leases()).toEqual([]);
  await withStoreLease(store, second, nothing);
});

test('the lease is released if the work fails, and the error is reported', async () => {
  await expect(withStoreLease(store, 'backup', () => Promise.reject(new Error('the disk is full')))).rejects.toThrow(
    'the disk is full',
  );
  expect(await leases()).toEqual([]);
});

test('the lease of killed work is valid for ten minutes', async () => {
  const name = 'running/backup-killed';
  const put = async (age: number): Promise<void> => {
    await store.put(name, Buffer.from('backup'));
    const then = new Date(Date.now() - age);
    await utimes(join(folder, name), then, then);
  };
  await put(abandonedAfter - 90_000);
  await expect(withStoreLease(store, 'removal', nothing)).rejects.toThrow('If that command was killed, wait 2 minutes');
  await put(abandonedAfter + 1000);
  await withStoreLease(store, 'removal', nothing);
  expect(await leases()).toEqual([]);
});

test('work whose lease was not renewed for five minutes gives up, even if it was renewed afterwards', async () => {
  await withStoreLease(
    store,
    'backup',
    async (lease) => {
      lease.check();
      const put = jest.spyOn(store, 'put');
      // As after a machine was suspended.
      const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + givenUpAfter);
      while (put.mock.calls.length < 2) await sleep(5);
      now.mockRestore();
      expect(() => lease.check()).toThrow('The lease of this command could not be renewed for 5 minutes.');
    },
    10,
  );
});

test('work continues while its lease is renewed', async () => {
  await withStoreLease(
    store,
    'backup',
    async (lease) => {
      const put = jest.spyOn(store, 'put');
      const now = jest.spyOn(Date, 'now');
      for (let minute = 1; minute <= 10; minute += 1) {
        now.mockReturnValue(performance.timeOrigin + performance.now() + minute * 60_000);
        for (const before = put.mock.calls.length; put.mock.calls.length < before + 2;) await sleep(5);
      }
      lease.check();
    },
    10,
  );
});
