/** Files in a folder, on a real file system that is full, and when a process is killed. */
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { access, mkdir, mkdtemp, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readConfig } from '../../../../src/app/config.ts';
import { newFileName } from '../../../../src/storage/files/new-file-name.ts';
import { StoreAway } from '../../../../src/storage/files/file-store.ts';
import { LocalFileStore, UploadTooLarge } from '../../../../src/storage/files/local-file-store.ts';
import { openFileStore } from '../../../../src/storage/files/open-file-store.ts';
import { verifyUploadUrl } from '../../../../src/storage/security/upload-signature.ts';
import { describeFileStore, listAll, newUpload, readWhole } from '../../../support/file-store.ts';
import { keysOf } from '../../../support/secret-keys.ts';

const keys = keysOf(1);
const origin = 'http://127.0.0.1:8080';
let folder: string;
let store: LocalFileStore;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tablog-files-'));
  store = await LocalFileStore.open({ folder, keys, publicUrl: null });
});

afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function* chunksOf(bytes: Uint8Array, then?: Error): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
  if (then) throw then;
}

const cut = new Error('the client went away');

describeFileStore(() => ({
  store,
  // Like the route, which knows the upload only from its URL.
  send: async (upload, bytes) => {
    const url = new URL(await store.locate(upload, origin));
    const expected = verifyUploadUrl(
      keys,
      url.pathname.slice('/uploads/'.length),
      Object.fromEntries(url.searchParams),
    );
    expect(expected).toEqual(upload);
    await store.receive(expected!.uploadId, chunksOf(bytes), expected!.sizeMax);
  },
  sendCut: (upload, bytes) =>
    expect(store.receive(upload.uploadId, chunksOf(bytes, cut), upload.sizeMax)).rejects.toBe(cut),
}));

function temporaries(): Promise<string[]> {
  return readdir(join(folder, 'temporary'));
}

/** Runs test/support/receive.ts in a shell that limits files to this many blocks. */
function receiveInProcess(
  uploadId: string,
  bytes: number,
  then: 'end' | 'stall',
  blocksMax: number | 'unlimited',
): ChildProcessWithoutNullStreams {
  const script = join(import.meta.dirname, '..', '..', '..', 'support', 'receive.ts');
  return spawn('sh', [
    '-c',
    `ulimit -f ${blocksMax} && exec "$@"`,
    'sh',
    process.execPath,
    script,
    folder,
    uploadId,
    String(bytes),
    then,
  ]);
}

test('a URL begins with PUBLIC_URL if that is set', async () => {
  const upload = newUpload();
  const published = await LocalFileStore.open({ folder, keys, publicUrl: 'https://tables.example.org/base/' });
  expect(await published.locate(upload, origin)).toMatch(`https://tables.example.org/base/uploads/${upload.uploadId}?`);
  expect(await store.locate(upload, origin)).toMatch(`${origin}/uploads/${upload.uploadId}?`);
});

test('a file with too many bytes is refused, and leaves nothing', async () => {
  const upload = newUpload();
  await store.receive(upload.uploadId, chunksOf(Buffer.alloc(2500)), 2500);
  let taken = 0;
  async function* endless(): AsyncIterable<Uint8Array> {
    for (;;) {
      taken += 1000;
      yield Buffer.alloc(1000);
    }
  }
  await expect(store.receive(upload.uploadId, endless(), 2500)).rejects.toThrow(UploadTooLarge);
  expect(taken).toBe(3000);
  expect(await temporaries()).toEqual([]);
  expect(await store.seal(upload, newFileName())).toEqual({ size: 2500 });
});

test('the age of a file follows from its name: its bytes may have arrived long before it was sealed', async () => {
  const upload = newUpload();
  const name = newFileName();
  await store.receive(upload.uploadId, chunksOf(Buffer.from('old')), 10);
  const longAgo = new Date(Date.now() - 7 * 24 * 3_600_000);
  await utimes(join(folder, 'arrived', upload.uploadId), longAgo, longAgo);
  await store.seal(upload, name);
  expect(await listAll(store, Date.now() - 3_600_000)).not.toContainEqual({ kind: 'file', name });
  expect(await listAll(store)).toContainEqual({ kind: 'file', name });
});

test('on a full disk the store is unavailable, existing files stay, and nothing is left behind', async () => {
  const upload = newUpload();
  await store.receive(upload.uploadId, chunksOf(Buffer.from('before')), 10);
  const full = receiveInProcess(upload.uploadId, 1_000_000, 'end', 16);
  expect(await Promise.all([text(full.stdout), text(full.stderr)])).toEqual(['StoreAway', '']);
  expect(await temporaries()).toEqual([]);
  const name = newFileName();
  expect(await store.seal(upload, name)).toEqual({ size: 6 });
  expect(await readWhole(store, name)).toBe('before');
  const roomy = receiveInProcess(upload.uploadId, 4096, 'end', 16);
  expect(await Promise.all([text(roomy.stdout), text(roomy.stderr)])).toEqual(['received', '']);
  expect(await store.seal(upload, newFileName())).toEqual({ size: 4096 });
});

test('a process that is killed while bytes arrive leaves no file, and the rest is found and removed', async () => {
  const upload = newUpload();
  const child = receiveInProcess(upload.uploadId, 500_000, 'stall', 'unlimited');
  const closed = once(child, 'close');
  await once(child.stdout, 'data');
  const [name] = await temporaries();
  expect(name).toBeDefined();
  child.kill('SIGKILL');
  await closed;
  expect(await store.seal(upload, newFileName())).toBeNull();
  const left = { kind: 'temporary', name: name! } as const;
  expect(await listAll(store, Date.now() - 60_000)).not.toContainEqual(left);
  expect(await listAll(store)).toContainEqual(left);
  await store.remove(left);
  expect(await temporaries()).toEqual([]);
});

test('files of other origin are neither listed nor removed', async () => {
  const stranger = join(folder, 'arrived', 'notes.txt');
  await writeFile(stranger, 'mine');
  await mkdir(join(folder, 'files', '00', 'sub'));
  expect((await listAll(store)).filter((object) => 'uploadId' in object && object.uploadId === 'notes.txt')).toEqual(
    [],
  );
  await store.remove({ kind: 'arrived', uploadId: 'notes.txt' });
  await access(stranger);
});

test('files are different even if the file system ignores case', async () => {
  const upload = newUpload();
  await store.receive(upload.uploadId, chunksOf(Buffer.from('x')), 10);
  const names = ['A', 'a'].map((letter) => `${letter.repeat(21)}A`);
  for (const name of names) await store.seal(upload, name);
  const paths = (await Array.fromAsync(await readdir(join(folder, 'files'), { recursive: true }))).map((path) =>
    path.toLowerCase(),
  );
  expect(new Set(paths).size).toBe(paths.length);
  await store.remove({ kind: 'file', name: names[0]! });
  expect(await readWhole(store, names[1]!)).toBe('x');
});

test('a missing folder means that the store is unavailable, not that its files are gone', async () => {
  const upload = newUpload();
  const elsewhere = `${folder}-elsewhere`;
  await rename(folder, elsewhere);
  try {
    await expect(store.read(newFileName())).rejects.toThrow(StoreAway);
    await expect(store.seal(upload, newFileName())).rejects.toThrow(StoreAway);
    await expect(store.receive(upload.uploadId, chunksOf(Buffer.from('x')), 10)).rejects.toThrow(StoreAway);
    await expect(listAll(store)).rejects.toThrow(StoreAway);
  } finally {
    await rename(elsewhere, folder);
  }
  await store.receive(upload.uploadId, chunksOf(Buffer.from('x')), 10);
  expect(await store.seal(upload, newFileName())).toEqual({ size: 1 });
});

test('the settings choose the folder, and an unusable one is reported as their problem', async () => {
  const chosen = join(folder, 'chosen');
  await openFileStore(readConfig({ DATA_DIR: chosen }), keys);
  await access(join(chosen, 'files', 'arrived'));
  await openFileStore(readConfig({ FILES_DIR: join(chosen, 'others') }), keys);
  await access(join(chosen, 'others', 'arrived'));
  await writeFile(join(chosen, 'file'), '');
  const problem = { problems: [expect.stringMatching(/^FILES_DIR: .*file: a file stands where it/)] };
  await expect(openFileStore(readConfig({ FILES_DIR: join(chosen, 'file') }), keys)).rejects.toMatchObject(problem);
});
