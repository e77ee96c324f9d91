import { randomBytes } from 'node:crypto';
import { nameBytes } from './file-name.ts';

/** An unguessable name for a file: 16 random bytes in base64url (RFC 4648, section 5), 22 characters. */
export function newFileName(): string {
  return randomBytes(nameBytes).toString('base64url');
}
