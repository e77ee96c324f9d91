import { createHash } from 'node:crypto';

/** SHA-256 of a token: the only form in which it is stored. */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
