/** Nonces of Content-Security-Policy. */
import { randomBytes } from 'node:crypto';

/** A nonce for one page, which nobody can guess. */
export function newNonce(): string {
  return randomBytes(16).toString('base64');
}
