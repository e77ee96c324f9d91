/** Tests for every kind of file store. */
import { randomUUIDv7 } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { newFileName } from '../../src/storage/files/new-file-name.ts';
import type { ExpectedUpload, FileStore, StoredObject } from '../../src/storage/files/file-store.ts';

/** A store, and how clients send bytes to it. */
interface StoreOfTest {
  readonly store: FileStore;
  /** Sends the bytes to the location that `locate` returns. */
  send(upload: ExpectedUpload, bytes: Uint8Array): Promise<void>;
  /** Sends the bytes as part of a longer body, and breaks the connection. */
  sendCut(upload: ExpectedUpload, bytes: Uint8Array): Promise<void>;
}

export function newUpload(changes: Partial<ExpectedUpload> = {}): ExpectedUpload {
  return {
    uploadId: randomUUIDv7(),
    contentType: 'text/plain',
    sizeMax: 1_000_000,
    expiresAt: Date.now() + 600_000,
    ...changes,
  };
}

/** The file's content; null if there is no such file. */
export async function readWhole(
  store: FileStore,
  name: string,
  range?: { readonly start: number; readonly end: number },
): Promise<string | null> {
  const stream = await store.read(name, range);
  return stream === null ? null : (await buffer(stream)).toString();
}

export async function listAll(store: FileStore, before = Date.now() + 60_000): Promise<StoredObject[]> {
  return Array.fromAsync(store.list(before));
}

/** Names that no store uses. Some would lead out of its folder. */
const strangeNames = [
  '',
  '.',
  '..',
  '/etc/passwd',
  '../../../etc/passwd',
  '..%2f..%2fetc',
  '../temporary/aaaaaaaa',
  'a'.repeat(21),
  'a'.repeat(23),
  `${'a'.repeat(21)}/`,
  `${'a'.repeat(21)}\0`,
  `${'a'.repeat(22)}\n`,
  `${'A'.repeat(21)}B`,
  `${'A'.repeat(21)}=`,
  '00000000-0000-0000-0000-00000000000g',
];

/** Declares the tests for the store that `get` returns within them. Others may share the store. */
export function describeFileStore(get: () => StoreOfTest): void {
  const bytesOf = (text: string): Uint8Array => Buffer.from(text);

  /** Sends and seals a file; resolves to its name. */
  async function store(text: string): Promise<string> {
    const upload = newUpload();
    const name = newFileName();
    await get().send(upload, bytesOf(text));
    expect(await get().store.seal(upload, name)).toEqual({ size: Buffer.byteLength(text) });
    return name;
  }

  test('a store belongs to the log that claims it first', async () => {
    const { store: files } = get();
    const owners = [randomUUIDv7(), randomUUIDv7()];
    const first = await Promise.all(owners.map((owner) => files.belongsTo(owner)));
    expect(first.filter((isOwner) => isOwner)).toHaveLength(1);
    expect(await Promise.all(owners.map((owner) => files.belongsTo(owner)))).toEqual(first);
    expect((await listAll(files)).map(({ kind }) => kind)).not.toContain('owner');
  });

  describe('a file', () => {
    test('keeps its bytes when other bytes are sent later', async () => {
      const upload = newUpload();
      const [first, second] = [newFileName(), newFileName()];
      await get().send(upload, bytesOf('first'));
      expect(await get().store.seal(upload, first)).toEqual({ size: 5 });
      await get().send(upload, bytesOf('something else'));
      expect(await readWhole(get().store, first)).toBe('first');
      expect(await get().store.seal(upload, second)).toEqual({ size: 14 });
      expect(await readWhole(get().store, first)).toBe('first');
      expect(await readWhole(get().store, second)).toBe('something else');
    });

    test('stays when another file of the same bytes is sealed and removed, and when the arrived bytes are removed', async () => {
      const upload = newUpload();
      const [first, second] = [newFileName(), newFileName()];
      await get().send(upload, bytesOf('bytes'));
      expect(await get().store.seal(upload, first)).toEqual({ size: 5 });
      expect(await get().store.seal(upload, second)).toEqual({ size: 5 });
      await get().store.remove({ kind: 'arrived', uploadId: upload.uploadId });
      await get().store.remove({ kind: 'file', name: second });
      expect(await readWhole(get().store, first)).toBe('bytes');
      expect(await readWhole(get().store, second)).toBeNull();
      expect(await get().store.seal(upload, newFileName())).toBeNull();
    });

    test('may be empty', async () => {
      expect(await readWhole(get().store, await store(''))).toBe('');
    });

    test('has bytes of any kind, and many', async () => {
      const upload = newUpload({ contentType: 'application/octet-stream', sizeMax: 12_000_000 });
      const bytes = Buffer.alloc(
        9_000_001,
        Uint8Array.from({ length: 251 }, (_, at) => at),
      );
      const name = newFileName();
      await get().send(upload, bytes);
      expect(await get().store.seal(upload, name)).toEqual({ size: bytes.length });
      const read = await buffer((await get().store.read(name))!);
      expect(read.equals(bytes)).toBe(true);
    });

    test.each([
      [0, 0, '0'],
      [0, 9, '0123456789'],
      [3, 5, '345'],
      [9, 9, '9'],
    ])('is read from %d to %d', async (start, end, text) => {
      expect(await readWhole(get().store, await store('0123456789'), { start, end })).toBe(text);
    });

    test('can be read again after a reader has stopped in the middle', async () => {
      const name = await store('x'.repeat(500_000));
      for (let i = 0; i < 5; i += 1) (await get().store.read(name))!.destroy();
      expect(await readWhole(get().store, name)).toHaveLength(500_000);
    });

    test('is missing under an unknown name, and can be removed there without an error', async () => {
      const name = newFileName();
      expect(await get().store.read(name)).toBeNull();
      await get().store.remove({ kind: 'file', name });
    });
  });

  describe('the arrived bytes', () => {
    test('are none before a client sends any, and can be removed without an error', async () => {
      const upload = newUpload();
      expect(await get().store.seal(upload, newFileName())).toBeNull();
      await get().store.remove({ kind: 'arrived', uploadId: upload.uploadId });
    });

    test('are none after a cut, and bytes that arrived whole before it stay', async () => {
      const upload = newUpload();
      await get().sendCut(upload, bytesOf('the beginn'));
      expect(await get().store.seal(upload, newFileName())).toBeNull();
      await get().send(upload, bytesOf('whole'));
      await get().sendCut(upload, bytesOf('the beginn'));
      const name = newFileName();
      expect(await get().store.seal(upload, name)).toEqual({ size: 5 });
      expect(await readWhole(get().store, name)).toBe('whole');
    });

    test('report a size above the limit, and their file can be removed, whether or not it was made', async () => {
      const upload = newUpload();
      const name = newFileName();
      await get().send(upload, bytesOf('123456'));
      expect(await get().store.seal({ ...upload, sizeMax: 5 }, name)).toEqual({ size: 6 });
      await get().store.remove({ kind: 'file', name });
      expect(await readWhole(get().store, name)).toBeNull();
      expect(await get().store.seal({ ...upload, sizeMax: 6 }, name)).toEqual({ size: 6 });
      expect(await readWhole(get().store, name)).toBe('123456');
    });

    test('are those of one request when several are sent at the same time', async () => {
      const upload = newUpload();
      const texts = ['a', 'b', 'c', 'd'].map((letter, at) => letter.repeat(200_000 + at));
      const names = Array.from({ length: 12 }, () => newFileName());
      const sendAll = (): Promise<unknown> => Promise.all(texts.map((text) => get().send(upload, bytesOf(text))));
      await sendAll();
      const sending = sendAll();
      const sizes: (number | undefined)[] = [];
      for (const name of names) sizes.push((await get().store.seal(upload, name))?.size);
      await sending;
      const sealed = await Promise.all(names.map((name) => readWhole(get().store, name)));
      for (const text of sealed) expect(texts).toContain(text);
      expect(sizes).toEqual(sealed.map((text) => text?.length));
    });
  });

  test.each(strangeNames)('%j is not a valid name', async (name) => {
    expect(await get().store.read(name)).toBeNull();
    await get().store.remove({ kind: 'file', name });
    await get().store.remove({ kind: 'arrived', uploadId: name });
    await get().store.remove({ kind: 'temporary', name });
    await expect(get().store.seal(newUpload(), name)).rejects.toThrow(RangeError);
    expect(await get().store.seal(newUpload({ uploadId: name }), newFileName())).toBeNull();
  });

  test('the list has everything that is stored, and nothing that came later', async () => {
    const [named, forgotten] = [newUpload(), newUpload()];
    const names = [newFileName(), newFileName()];
    await get().send(named, bytesOf('a'));
    await get().send(forgotten, bytesOf('b'));
    for (const name of names) await get().store.seal(named, name);
    await get().store.remove({ kind: 'arrived', uploadId: named.uploadId });
    const mine = (all: readonly StoredObject[]): StoredObject[] =>
      all.filter((object) => {
        return object.kind === 'file'
          ? names.includes(object.name)
          : object.kind === 'arrived' && [named, forgotten].some(({ uploadId }) => uploadId === object.uploadId);
      });
    const listed = mine(await listAll(get().store));
    expect(listed).toHaveLength(3);
    expect(listed).toEqual(
      expect.arrayContaining([
        { kind: 'arrived', uploadId: forgotten.uploadId },
        ...names.map((name) => ({ kind: 'file', name })),
      ]),
    );
    expect(mine(await listAll(get().store, Date.now() - 60_000))).toEqual([]);
    for (const object of listed) await get().store.remove(object);
    expect(mine(await listAll(get().store))).toEqual([]);
  });
}
