/** Encrypts the signing keys of a deployment with AES-256-GCM. scrypt (RFC 7914) derives the key from a passphrase. */
import { createCipheriv, createDecipheriv, randomBytes, scrypt, type ScryptOptions } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { BackupError } from './backup-store.ts';

const derive = promisify<string | Buffer, Buffer, number, ScryptOptions, Buffer>(scrypt);

/**
 * scrypt takes 128 MiB and a third of a second with these. Each envelope and signature contains its parameters, so that
 * later versions can raise them.
 */
const cost = { N: 2 ** 17, r: 8, p: 1 };

/** A shorter passphrase could be guessed. */
const passphraseMin = 12;

const base64 = z.string().transform((text) => Buffer.from(text, 'base64'));

/** Parameters of scrypt, with `salt` in base64. They are limited, because anybody may have written them. */
export const scryptParameters = z.object({
  N: z
    .number()
    .int()
    .max(2 ** 20),
  r: z.number().int().max(16),
  p: z.number().int().max(4),
  salt: z.base64(),
});
export type ScryptParameters = z.output<typeof scryptParameters>;

const envelope = z.object({
  format: z.literal(1),
  scrypt: scryptParameters,
  nonce: base64,
  tag: base64,
  ciphertext: base64,
});

/** Throws BackupError if the passphrase is too short. */
export function checkPassphrase(passphrase: Buffer): void {
  if (passphrase.length < passphraseMin)
    throw new BackupError(`A passphrase must have at least ${passphraseMin} characters.`);
}

/** Encrypts `plain`. Resolves to an envelope in JSON. Rejects with BackupError if the passphrase is too short. */
export async function seal(plain: Uint8Array, passphrase: Buffer): Promise<Buffer> {
  checkPassphrase(passphrase);
  const [parameters, nonce] = [newParameters(), randomBytes(12)];
  const cipher = createCipheriv('aes-256-gcm', await deriveKey(passphrase, parameters), nonce);
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()]);
  const [text, tag] = [ciphertext, cipher.getAuthTag()].map((bytes) => bytes.toString('base64'));
  return Buffer.from(
    JSON.stringify({
      format: 1,
      scrypt: parameters,
      nonce: nonce.toString('base64'),
      tag,
      ciphertext: text,
    }),
  );
}

/** Decrypts an envelope of `seal`. Rejects with BackupError if the passphrase is wrong, or the envelope is damaged. */
export async function open(sealed: Uint8Array, passphrase: Buffer): Promise<Buffer> {
  try {
    const { scrypt: parameters, nonce, tag, ciphertext } = envelope.parse(JSON.parse(Buffer.from(sealed).toString()));
    const decipher = createDecipheriv('aes-256-gcm', await deriveKey(passphrase, parameters), nonce, {
      authTagLength: 16,
    });
    decipher.setAuthTag(tag);
    return Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch (error) {
    throw new BackupError('The keys cannot be decrypted: the passphrase is wrong, or the keys are damaged.', {
      cause: error,
    });
  }
}

/** Parameters for a new key. */
export function newParameters(): ScryptParameters {
  return { ...cost, salt: randomBytes(16).toString('base64') };
}

/** Derives a key of 32 bytes from a passphrase. Rejects if scrypt rejects the parameters. */
export function deriveKey(passphrase: Buffer, { salt, ...options }: ScryptParameters): Promise<Buffer> {
  return derive(passphrase, Buffer.from(salt, 'base64'), 32, { ...options, maxmem: 512 * 2 ** 20 });
}
