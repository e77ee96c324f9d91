/** What a spool keeps, and where. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { openSpoolFolder } from '../../../src/app/spool-folder.ts';
import { JsonRowReader } from '../../../src/formats/json-row-reader.ts';
import { decodeBlock, encodeBlock } from '../../../src/http/bodies/spooled-block.ts';
import { Spool } from '../../../src/http/bodies/spool.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-spool-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** How many files that were in the folder are open. */
async function openFiles(): Promise<number> {
  const files = await Promise.all((await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return files.filter((file) => file.startsWith(folder)).length;
}

/** What is read back, in hexadecimal. */
async function readAll(spool: Spool): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of spool.entries()) found.push(Buffer.from(entry).toString('hex'));
  return found;
}

describe.each([
  ['nothing', [], 0], ['an empty entry', [0], 0], ['what fits into memory', [60, 40], 0], ['one byte more', [60, 41], 1],
  ['one large entry', [100_000], 1], ['small ones behind a large one', [10, 200, 1, 0, 5, 300_000], 1],
])('%s', (_what, lengths, files) => {
  test('is read back in order, and a file has no name', async () => {
    const entries = lengths.map((length) => randomBytes(length));
    const spool = new Spool(folder, 100);
    for (const entry of entries) await spool.write(entry);
    expect(await readdir(folder)).toEqual([]);
    expect(await openFiles()).toBe(files);
    expect(await readAll(spool)).toEqual(entries.map((entry) => entry.toString('hex')));
    await spool[Symbol.asyncDispose]();
    expect(await openFiles()).toBe(0);
  });
});

test('a spool whose folder takes no file is unavailable', async () => {
  await using spool = new Spool(join(folder, 'gone'), 100);
  await spool.write(Buffer.alloc(100));
  await expect(spool.write(Buffer.alloc(1))).rejects.toMatchObject({ type: 'service_unavailable' });
});

test('the folder is emptied at the start, and is that of the system where none can be made', async () => {
  const made = await openSpoolFolder(folder);
  await writeFile(join(made, 'body-1'), 'left by a process that was killed');
  expect(await openSpoolFolder(folder)).toBe(made);
  expect(await readdir(made)).toEqual([]);
  expect(await openSpoolFolder('/proc/none')).toBe(tmpdir());
});

test.each([['without row IDs', '{"a":1,"b":[null]}', false], ['with row IDs', '{"$rowID":"AAAAAAAAAAEAAAAAAAAAAA","a":"x"}', true]])('a block %s is read back as it was', (_what, row, hasIds) => {
  const reader = new JsonRowReader({ form: 'rows', retainIds: true });
  const [{ profile, ids } = { profile: null, ids: null }] = [...reader.push(Buffer.from(`[${row}]`)), ...reader.end().blocks];
  expect(ids !== null).toBe(hasIds);
  const block = { segmentId: 's', profile: profile!, hasIds, body: { codec: 1, bytes: randomBytes(100) } };
  expect(decodeBlock(encodeBlock(block))).toEqual(block);
});
