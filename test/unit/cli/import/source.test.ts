import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Compression } from '../../../../clients/file-import/file-format.ts';
import { openSource } from '../../../../src/cli/import/source.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-source-'));
});

afterAll(() => rm(folder, { recursive: true }));

const never = new AbortController().signal;

async function read(content: Uint8Array, compression: Compression | null, signal = never): Promise<string> {
  const file = join(folder, 'file');
  await writeFile(file, content);
  const source = await openSource(file, compression);
  expect(source.size).toBe(content.length);
  const pieces: Uint8Array[] = [];
  for await (const piece of source.pieces(signal)) pieces.push(piece);
  expect(source.bytesRead).toBe(content.length);
  return Buffer.concat(pieces).toString();
}

const long = 'some text, '.repeat(100_000);

test.each<readonly [string, Uint8Array, Compression | null, string]>([
  ['plain', Buffer.from(long), null, long],
  ['nothing', Buffer.alloc(0), null, ''],
  ['gzip', gzipSync(long), 'gzip', long],
  ['gzip of several members', Buffer.concat([gzipSync('a'), gzipSync('b')]), 'gzip', 'ab'],
  ['zstd', zstdCompressSync(long), 'zstd', long],
])('a source is read: %s', async (_what, content, compression, text) => {
  expect(await read(content, compression)).toBe(text);
});

describe('an incomplete file is refused, and never read as a shorter one', () => {
  test.each<readonly [string, Uint8Array, Compression, string]>([
    ['gzip cut short', gzipSync(long).subarray(0, -9), 'gzip', 'the gzip data ends too soon'],
    ['zstd cut short', zstdCompressSync(long).subarray(0, -9), 'zstd', 'the zstd data ends too soon'],
    ['what is no gzip', Buffer.from(long), 'gzip', 'this is not valid gzip data: incorrect header check'],
    ['what is no zstd', Buffer.from(long), 'zstd', 'this is not valid zstd data: '],
    [
      'two frames of zstd',
      Buffer.concat([zstdCompressSync('a'), zstdCompressSync('b')]),
      'zstd',
      'something follows the zstd data',
    ],
    [
      'something behind gzip',
      Buffer.concat([gzipSync('a'), Buffer.from('garbage')]),
      'gzip',
      'this is not valid gzip data',
    ],
  ])('a source that is not whole is refused: %s', async (_what, content, compression, message) => {
    await expect(read(content, compression)).rejects.toThrow(message);
  });

  test('a file that cannot be opened is refused', async () => {
    await expect(openSource(join(folder, 'nowhere'), null)).rejects.toThrow(/nowhere cannot be read: ENOENT/);
    await expect(openSource(folder, null)).rejects.toThrow(`${folder} is a folder.`);
  });

  test.each<Compression | null>([null, 'gzip'])('who stops it gets the reason (%s)', async (compression) => {
    const stopping = new AbortController();
    stopping.abort(new Error('stopped'));
    await expect(read(gzipSync(long), compression, stopping.signal)).rejects.toThrow('stopped');
  });
});
