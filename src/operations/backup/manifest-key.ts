/**
 * Signs manifests with the passphrase of the backups, so that a restore takes nothing that somebody else has put there:
 * HMAC-SHA256 with a key that scrypt derives from the passphrase (docs/decisions/0061).
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { deriveKey, newParameters, scryptParameters, type ScryptParameters } from './sealed-keys.ts';

export const manifestSignature = z.object({
  scrypt: scryptParameters,
  /** In hexadecimal digits. */
  hmac: z.string().regex(/^[0-9a-f]{64}$/),
});
export type ManifestSignature = z.output<typeof manifestSignature>;

/** Before the text: no other use of such a key can make the same signature. */
const purpose = 'tablog backup manifest\n';

export class ManifestKey {
  readonly #passphrase: Buffer;
  /** To derive a key takes a third of a second, and manifests share the parameters. By parameters, as JSON. */
  readonly #keys = new Map<string, Promise<Buffer>>();
  /** Of the last manifest that was found to be signed with this key. */
  #parameters: ScryptParameters | null = null;

  constructor(passphrase: Buffer) {
    this.#passphrase = passphrase;
  }

  /** Signs with the parameters of the last signature that was found to be of this key, or with new ones. */
  async sign(text: string): Promise<ManifestSignature> {
    this.#parameters ??= newParameters();
    return { scrypt: this.#parameters, hmac: (await this.#hmac(text, this.#parameters)).toString('hex') };
  }

  /** Resolves to whether the signature is of this text and this key. */
  async signed(text: string, { scrypt, hmac }: ManifestSignature): Promise<boolean> {
    // Parameters that scrypt does not take are not those of a key.
    const expected = await this.#hmac(text, scrypt).catch(() => null);
    const isSigned = expected !== null && timingSafeEqual(expected, Buffer.from(hmac, 'hex'));
    if (isSigned) this.#parameters = scrypt;
    return isSigned;
  }

  async #hmac(text: string, parameters: ScryptParameters): Promise<Buffer> {
    const id = JSON.stringify(parameters);
    const key = this.#keys.get(id) ?? deriveKey(this.#passphrase, parameters);
    this.#keys.set(id, key);
    return createHmac('sha256', await key)
      .update(purpose)
      .update(text)
      .digest();
  }
}
