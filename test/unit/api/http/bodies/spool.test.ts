/** What a spool keeps, and where. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, open, readdir, readlink, rm, stat, truncate, writeFile, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { openSpoolFolder } from '../../../../../src/app/spool-folder.ts';
import { JsonRowReader } from '../../../../../src/language/formats/json-row-reader.ts';
import { decodeBlock, encodeBlock } from '../../../../../src/api/http/bodies/spooled-block.ts';
import { Spool } from '../../../../../src/api/http/bodies/spool.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-spool-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** The files that were in the folder and are open, as paths that lead to them although they have no names. */
async function openFiles(): Promise<string[]> {
  const opened = (await readdir('/proc/self/fd')).map((fd) => `/proc/self/fd/${fd}`);
  const files = await Promise.all(opened.map((path) => readlink(path).catch(() => '')));
  return opened.filter((_, at) => files[at]!.startsWith(folder));
}

/** What is read back, in hexadecimal. */
async function readAll(spool: Spool): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of spool.entries()) found.push(Buffer.from(entry).toString('hex'));
  return found;
}

describe.each([
  ['nothing', [], 0],
  ['an empty entry', [0], 0],
  ['what fits into memory', [60, 40], 0],
  ['one byte more', [60, 41], 1],
  ['one large entry', [100_000], 1],
  ['small ones behind a large one', [10, 200, 1, 0, 5, 300_000], 1],
])('%s', (_what, lengths, files) => {
  test('is read back in order, and its file has no name', async () => {
    const entries = lengths.map((length) => randomBytes(length));
    const spool = new Spool(folder, 100);
    for (const entry of entries) await spool.write(entry);
    expect(await readdir(folder)).toEqual([]);
    expect(await openFiles()).toHaveLength(files);
    expect(await readAll(spool)).toEqual(entries.map((entry) => entry.toString('hex')));
    await spool[Symbol.asyncDispose]();
    expect(await openFiles()).toEqual([]);
  });
});

test('a body of 1 MiB needs no file, and nobody else can read the file of a larger one', async () => {
  await using spool = new Spool(folder);
  for (let kib = 0; kib < 1024; kib += 1) await spool.write(Buffer.alloc(1024));
  expect(await openFiles()).toEqual([]);
  await spool.write(Buffer.alloc(1));
  const [file] = await openFiles();
  expect((await stat(file!)).mode & 0o777).toBe(0o600);
});

test('a spool is complete even if the system writes and reads only some bytes at a time', async () => {
  const probe = await open(join(folder, 'probe'), 'w');
  const fileHandle = Object.getPrototypeOf(probe) as FileHandle;
  await probe.close();
  type Transfer = (bytes: Uint8Array, at: number, length: number, position: number) => Promise<unknown>;
  const spies = (['write', 'read'] as const).map((name) => {
    const transfer = fileHandle[name] as unknown as Transfer;
    const some: Transfer = function some(this: FileHandle, bytes, at, length, position) {
      return transfer.call(this, bytes, at, Math.min(length, 7), position);
    };
    return jest.spyOn(fileHandle, name).mockImplementation(some as never);
  });
  try {
    const entries = [20, 7, 50].map((length) => randomBytes(length));
    await using spool = new Spool(folder, 0);
    for (const entry of entries) await spool.write(entry);
    expect(await readAll(spool)).toEqual(entries.map((entry) => entry.toString('hex')));
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
});

test('a file that has become shorter is an error', async () => {
  await using spool = new Spool(folder, 0);
  await spool.write(Buffer.alloc(100));
  await truncate((await openFiles())[0]!, 99);
  await expect(readAll(spool)).rejects.toThrow('a spool ends 1 bytes too early');
});

test('a spool whose folder accepts no file is unavailable', async () => {
  await using spool = new Spool(join(folder, 'gone'), 100);
  await spool.write(Buffer.alloc(100));
  await expect(spool.write(Buffer.alloc(1))).rejects.toMatchObject({ type: 'service_unavailable' });
});

test("the folder is emptied at the start; if none can be made, it is the system's folder", async () => {
  const made = await openSpoolFolder(folder);
  await writeFile(join(made, 'body-1'), 'left by a process that was killed');
  expect(await openSpoolFolder(folder)).toBe(made);
  expect(await readdir(made)).toEqual([]);
  expect(await openSpoolFolder('/proc/none')).toBe(tmpdir());
});

test.each([
  ['without row IDs', '{"a":1,"b":[null]}', false],
  ['with row IDs', '{"$rowID":"AAAAAAAAAAEAAAAAAAAAAA","a":"x"}', true],
])('a block %s is read back as it was', (_what, row, hasIds) => {
  const reader = new JsonRowReader({ form: 'rows', retainIds: true });
  const [{ profile, ids } = { profile: null, ids: null }] = [
    ...reader.push(Buffer.from(`[${row}]`)),
    ...reader.end().blocks,
  ];
  expect(ids !== null).toBe(hasIds);
  const block = { segmentId: 's', profile: profile!, hasIds, body: { codec: 1, bytes: randomBytes(100) } };
  expect(decodeBlock(encodeBlock(block))).toEqual(block);
});
