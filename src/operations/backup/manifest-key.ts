/**
 * Signs manifests with the passphrase of the backups, so that a restore refuses a set that somebody else has written:
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

/** Precedes the signed text, so that no other use of such a key can produce the same signature. */
const purpose = 'tablog backup manifest\n';

export class ManifestKey {
  readonly #passphrase: Buffer;
  /**
   * Derived keys by their parameters as JSON. Deriving one takes a third of a second, and manifests share parameters.
   */
  readonly #keys = new Map<string, Promise<Buffer>>();
  /** The parameters of the last valid signature. */
  #parameters: ScryptParameters | null = null;

  constructor(passphrase: Buffer) {
    this.#passphrase = passphrase;
  }

  /** Signs with the parameters of the last valid signature, or with new ones if there is none. */
  async sign(text: string): Promise<ManifestSignature> {
    this.#parameters ??= newParameters();
    return { scrypt: this.#parameters, hmac: (await this.#hmac(text, this.#parameters)).toString('hex') };
  }

  /** Resolves to whether the signature is valid for this text and this passphrase. */
  async signed(text: string, { scrypt, hmac }: ManifestSignature): Promise<boolean> {
    // If scrypt rejects the parameters, the signature is invalid.
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
