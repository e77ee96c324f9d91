/** Encrypts the signing keys of a deployment: with AES-256-GCM, by a key that scrypt derives from a passphrase (RFC 7914). */
import { createCipheriv, createDecipheriv, randomBytes, scrypt, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { BackupError } from './backup-store.ts';

const derive = promisify<string | Buffer, Buffer, number, ScryptOptions, Buffer>(scrypt);

/** Takes 128 MiB and a third of a second. They stand in the envelope, so that they can be raised. */
const cost = { N: 2 ** 17, r: 8, p: 1 };

/** A passphrase that can be tried out is none. */
const passphraseMin = 12;

const base64 = z.string().transform((text) => Buffer.from(text, 'base64'));

const envelope = z.object({
  format: z.literal(1),
  // Bounded, because the envelope may come from anybody.
  scrypt: z.object({ N: z.number().int().max(2 ** 20), r: z.number().int().max(16), p: z.number().int().max(4), salt: base64 }),
  nonce: base64,
  tag: base64,
  ciphertext: base64,
});

/** Throws BackupError if the passphrase is too short. */
export function checkPassphrase(passphrase: Buffer): void {
  if (passphrase.length < passphraseMin) throw new BackupError(`A passphrase must have at least ${passphraseMin} characters.`);
}

/** Rejects with BackupError if the passphrase is too short. */
export async function seal(plain: Uint8Array, passphrase: Buffer): Promise<Buffer> {
  checkPassphrase(passphrase);
  const [salt, nonce] = [randomBytes(16), randomBytes(12)];
  const cipher = createCipheriv('aes-256-gcm', await keyOf(passphrase, salt, cost), nonce);
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()]);
  const [text, tag] = [ciphertext, cipher.getAuthTag()].map((bytes) => bytes.toString('base64'));
  return Buffer.from(JSON.stringify({
    format: 1, scrypt: { ...cost, salt: salt.toString('base64') }, nonce: nonce.toString('base64'), tag, ciphertext: text,
  }));
}

/** Rejects with BackupError if the passphrase is another one, or the envelope damaged. */
export async function open(sealed: Uint8Array, passphrase: Buffer): Promise<Buffer> {
  try {
    const { scrypt: { salt, ...options }, nonce, tag, ciphertext } = envelope.parse(JSON.parse(Buffer.from(sealed).toString()));
    const decipher = createDecipheriv('aes-256-gcm', await keyOf(passphrase, salt, options), nonce, { authTagLength: 16 });
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch (error) {
    throw new BackupError('The keys cannot be decrypted: the passphrase is another one, or they are damaged.', { cause: error });
  }
}

function keyOf(passphrase: Buffer, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  return derive(passphrase, salt, 32, { ...options, maxmem: 512 * 2 ** 20 });
}
