/** Hundreds of small backups of a growing log, in a folder. */
import { mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { FolderStore } from '../../../../src/operations/backup/folder-store.ts';
import {
  listSets,
  packsOf,
  readSet,
  writeManifest,
  type Manifest,
} from '../../../../src/operations/backup/manifest.ts';
import { PackWriter } from '../../../../src/operations/backup/packs.ts';
import { readPackedRecords, writeRecords } from '../../../../src/operations/backup/record-packs.ts';
import { removeSets } from '../../../../src/operations/backup/remove-sets.ts';
import type { LogReader, LogRecord } from '../../../../src/log/event-log.ts';
import { hashOf } from '../../../../src/log/identity.ts';

let folder: string;
let store: FolderStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-many-backups-'));
  store = await FolderStore.open(folder, { make: true });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const backups = 300;
const day = 86_400_000;

/** The records that a partition had at the time of a backup: three more than at the one before. */
const records: LogRecord[] = Array.from({ length: 3 * backups }, (_, n) => ({
  partition: 0,
  offset: BigInt(n),
  time: n,
  bytes: Buffer.from(`record ${n}`.repeat(1 + (n % 7))),
}));

const log: Pick<LogReader, 'read'> = {
  async *read(_partition, from, to) {
    for (let at = Number(from); at < Number(to); at += 100) yield records.slice(at, Math.min(Number(to), at + 100));
  },
};

async function takeSet(number: number, before: Manifest | undefined): Promise<Manifest> {
  const packs = new PackWriter(store, before === undefined ? [] : packsOf(before), { reuses: true });
  const next = 3 * number;
  const written: Manifest = {
    format: 2,
    takenAt: number,
    snapshotMs: 1,
    readModel: 'tablog_17',
    localKeys: '1',
    notes: [],
    tables: [],
    partitions: [
      {
        next: String(next),
        base: '0',
        logId: null,
        lastHash: hashOf(records[next - 1]!).toString('hex'),
        digest: '0'.repeat(64),
        tables: [],
        records: await writeRecords(log, packs, 0, BigInt(next), before?.partitions[0], () => undefined),
      },
    ],
    keys: null,
    files: { count: 0, bytes: 0, kept: false, names: [] },
  };
  await writeManifest(store, written, null);
  return written;
}

test('hundreds of small backups leave few packs in the newest manifest; kept sets can be restored, and removal deletes packs that only older sets name', async () => {
  let newest: Manifest | undefined;
  for (let number = 1; number <= backups; number += 1) newest = await takeSet(number, newest);
  expect(newest!.partitions[0]!.records!.length).toBeLessThan(20);
  const packsThere = async (): Promise<string[]> =>
    (await readdir(join(folder, 'packs'), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const then = new Date(Date.now() - 2 * day);
  for (const path of await packsThere()) await utimes(path, then, then);
  const all = (await packsThere()).length;
  await removeSets(store, 50, new AbortController().signal);
  expect((await packsThere()).length).toBeLessThan(all);
  const kept = await listSets(store);
  expect(kept).toHaveLength(50);
  for (const id of kept) {
    const { manifest } = await readSet(store, id);
    const found = (await Array.fromAsync(readPackedRecords(store, 0, manifest.partitions[0]!))).flat();
    expect(found.map(({ bytes }) => Buffer.from(bytes).toString())).toEqual(
      records.slice(0, 3 * manifest.takenAt).map(({ bytes }) => Buffer.from(bytes).toString()),
    );
  }
});
