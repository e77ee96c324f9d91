/** Files in a real S3. */
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readConfig, type Config } from '../../../../src/app/config.ts';
import { newFileName } from '../../../../src/storage/files/new-file-name.ts';
import { StoreAway, type ExpectedUpload } from '../../../../src/storage/files/file-store.ts';
import { openFileStore } from '../../../../src/storage/files/open-file-store.ts';
import type { S3FileStore } from '../../../../src/storage/files/s3-file-store.ts';
import { describeFileStore, listAll, newUpload, readWhole } from '../../../support/file-store.ts';
import { startS3, type S3Server } from '../../../support/s3/seaweedfs.ts';
import { keysOf } from '../../../support/secret-keys.ts';

let s3: S3Server;
let store: S3FileStore;

function configOf(changes: Readonly<Record<string, string>> = {}): Config {
  return readConfig({
    ...s3.settings,
    FILES_S3_PREFIX: 'some/tablog/',
    ...changes,
  });
}

async function open(changes: Readonly<Record<string, string>> = {}): Promise<S3FileStore> {
  return (await openFileStore(configOf(changes), keysOf(1))) as S3FileStore;
}

beforeAll(async () => {
  s3 = await startS3();
  store = await open();
});

afterAll(async () => {
  await store?.close();
  await s3?.remove();
});

async function locate(upload: ExpectedUpload): Promise<string> {
  return store.locate(upload, 'http://127.0.0.1:8080');
}

async function put(
  url: string,
  bytes: Uint8Array<ArrayBuffer>,
  headers: Readonly<Record<string, string>>,
): Promise<number> {
  const response = await fetch(url, { method: 'PUT', body: bytes, headers });
  await response.arrayBuffer();
  return response.status;
}

describeFileStore(() => ({
  store,
  send: async (upload, bytes) => {
    expect(await put(await locate(upload), new Uint8Array(bytes), { 'content-type': upload.contentType })).toBe(200);
  },
  sendCut: async (upload, bytes) => {
    const sending = request(await locate(upload), {
      method: 'PUT',
      headers: { 'content-type': upload.contentType, 'content-length': bytes.length + 1 },
    });
    sending.on('error', () => undefined);
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    sending.on('close', resolve);
    sending.write(bytes, () => sending.destroy());
    await closed;
  },
}));

describe('a URL', () => {
  const bytes = Buffer.from('bytes');

  test('accepts only bytes of the Content-Type for which it was made', async () => {
    const upload = newUpload({ contentType: 'image/svg+xml; charset="utf-8"' });
    const url = await locate(upload);
    expect(await put(url, bytes, { 'content-type': 'text/html' })).toBe(403);
    expect(await put(url, bytes, {})).toBe(403);
    expect(await store.seal(upload, newFileName())).toBeNull();
    expect(await put(url, bytes, { 'content-type': upload.contentType })).toBe(200);
    expect(await store.seal(upload, newFileName())).toEqual({ size: 5 });
  });

  test.each<[string, (url: URL) => void]>([
    [
      'for another upload',
      (url) => {
        url.pathname = url.pathname.replace(/[^/]*$/, newUpload().uploadId);
      },
    ],
    [
      'as a file',
      (url) => {
        url.pathname = url.pathname.replace(/arrived.*$/, `files/${newFileName()}`);
      },
    ],
    ['for longer', (url) => url.searchParams.set('X-Amz-Expires', '604800')],
    ['with another signature', (url) => url.searchParams.set('X-Amz-Signature', '0'.repeat(64))],
    [
      'without a signature',
      (url) => {
        url.search = '';
      },
    ],
  ])('takes none %s', async (_what, change) => {
    const upload = newUpload();
    const url = new URL(await locate(upload));
    change(url);
    expect(await put(url.href, bytes, { 'content-type': upload.contentType })).toBe(403);
  });

  test('accepts no bytes after its time', async () => {
    const upload = newUpload({ expiresAt: Date.now() });
    const url = await locate(upload);
    expect(new URL(url).searchParams.get('X-Amz-Expires')).toBe('1');
    // The S3 counts from the second in which the URL was signed.
    await new Promise((resolve) => setTimeout(resolve, 2100));
    expect(await put(url, bytes, { 'content-type': upload.contentType })).toBe(403);
  });

  test("has the address at which clients reach the S3, which is not this service's", async () => {
    const published = await open({ FILES_S3_PUBLIC_ENDPOINT: 'https://files.example.org' });
    const upload = newUpload();
    expect(await published.locate(upload, 'http://127.0.0.1:8080')).toMatch(
      `https://files.example.org/${s3.bucket}/some/tablog/arrived/${upload.uploadId}?`,
    );
    await published.close();
  });
});

test('the bucket cannot be read without a key', async () => {
  const upload = newUpload();
  const name = newFileName();
  await put(await locate(upload), Buffer.from('secret'), { 'content-type': upload.contentType });
  await store.seal(upload, name);
  expect((await fetch(`${s3.endpoint}/${s3.bucket}/some/tablog/files/${name}`)).status).toBe(403);
});

test('a file that is larger than the upload may be is not copied', async () => {
  const own = await open({ FILES_S3_PREFIX: 'large/' });
  const upload = newUpload({ sizeMax: 5 });
  const name = newFileName();
  const url = await own.locate(upload, '');
  await put(url, Buffer.from('123456'), { 'content-type': upload.contentType });
  expect(await own.seal(upload, name)).toEqual({ size: 6 });
  const arrived = { kind: 'arrived', uploadId: upload.uploadId };
  expect(await listAll(own)).toEqual([arrived]);
  await put(url, Buffer.from('12345'), { 'content-type': upload.contentType });
  expect(await own.seal(upload, name)).toEqual({ size: 5 });
  expect(await listAll(own)).toEqual([{ kind: 'file', name }, arrived]);
  await own.close();
});

test("stores of other prefixes do not see each other's files", async () => {
  const upload = newUpload();
  const name = newFileName();
  await put(await locate(upload), Buffer.from('mine'), { 'content-type': upload.contentType });
  await store.seal(upload, name);
  const others = [
    await open({ FILES_S3_PREFIX: 'other/' }),
    await open({ FILES_S3_PREFIX: 'some/' }),
    await open({ FILES_S3_PREFIX: '' }),
  ];
  for (const other of others) {
    expect(await other.read(name)).toBeNull();
    expect(await listAll(other)).toEqual([]);
    await other.close();
  }
  expect(await readWhole(store, name)).toBe('mine');
});

test('a list that the S3 returns in several parts is complete', async () => {
  const own = await open({ FILES_S3_PREFIX: 'many/' });
  const upload = newUpload();
  await put(await own.locate(upload, ''), Buffer.from('x'), { 'content-type': upload.contentType });
  const names = Array.from({ length: 1005 }, () => newFileName());
  for (let at = 0; at < names.length; at += 50)
    await Promise.all(names.slice(at, at + 50).map((name) => own.seal(upload, name)));
  const listed = (await listAll(own)).flatMap((object) => (object.kind === 'file' ? [object.name] : []));
  expect(listed.sort()).toEqual(names.sort());
  await own.close();
});

describe('the start', () => {
  test.each<[Readonly<Record<string, string>>, RegExp]>([
    [{ FILES_S3_BUCKET: 'no-such-bucket' }, /^FILES_S3_BUCKET: there is no bucket no-such-bucket; make it/],
    [{ FILES_S3_SECRET_ACCESS_KEY: 'wrong' }, /^FILES_S3_ACCESS_KEY_ID: the S3 does not accept this key/],
    [{ FILES_S3_ACCESS_KEY_ID: 'nobody' }, /^FILES_S3_ACCESS_KEY_ID: the S3 does not accept this key/],
  ])('with %j names the setting that is wrong', async (changes, problem) => {
    await expect(open(changes)).rejects.toMatchObject({
      name: 'ConfigError',
      problems: [expect.stringMatching(problem)],
    });
  });

  test('a start without a reachable S3 succeeds, and the store may work later', async () => {
    await expect(open({ FILES_S3_ENDPOINT: 'http://127.0.0.1:1' })).rejects.toThrow(StoreAway);
  });
});

test('while the S3 cannot be reached no file counts as gone, and the store works again afterwards', async () => {
  const upload = newUpload();
  const name = newFileName();
  await put(await locate(upload), Buffer.from('kept'), { 'content-type': upload.contentType });
  await store.seal(upload, name);
  await s3.kill();
  // In parallel, because each one is tried for some seconds.
  const asked = [
    store.seal(upload, newFileName()),
    store.read(name),
    store.remove({ kind: 'file', name }),
    listAll(store),
  ];
  await Promise.all(asked.map((answer) => expect(answer).rejects.toThrow(StoreAway)));
  await s3.start();
  expect(await readWhole(store, name)).toBe('kept');
  expect(await store.seal(upload, newFileName())).toEqual({ size: 4 });
});
