import { expect, test } from '@jest/globals';
import { ManifestKey } from '../../../../src/operations/backup/manifest-key.ts';

const passphrase = Buffer.from('correct horse battery staple');

test('a text is signed with the passphrase, and no other text has that signature', async () => {
  const signature = await new ManifestKey(passphrase).sign('a manifest');
  const key = new ManifestKey(passphrase);
  expect(await key.signed('a manifest', signature)).toBe(true);
  expect(await key.signed('a manifesto', signature)).toBe(false);
  expect(await key.signed('a manifest', { ...signature, hmac: '0'.repeat(64) })).toBe(false);
  expect(await new ManifestKey(Buffer.from('another passphrase')).signed('a manifest', signature)).toBe(false);
});

test('parameters that scrypt refuses make no signature', async () => {
  const key = new ManifestKey(passphrase);
  const signature = await key.sign('a manifest');
  for (const N of [0, 3, 2 ** 20])
    expect(await key.signed('a manifest', { ...signature, scrypt: { ...signature.scrypt, N, r: 16 } })).toBe(false);
});

test('the next manifest uses the same parameters, so that one key is derived for all', async () => {
  const before = await new ManifestKey(passphrase).sign('a manifest');
  const key = new ManifestKey(passphrase);
  expect(await key.signed('a manifest', before)).toBe(true);
  expect((await key.sign('the next one')).scrypt).toEqual(before.scrypt);
  const other = new ManifestKey(Buffer.from('another passphrase'));
  expect(await other.signed('a manifest', before)).toBe(false);
  expect((await other.sign('the next one')).scrypt.salt).not.toBe(before.scrypt.salt);
});
