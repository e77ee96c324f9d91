/**
 * Access tokens: `tablog_`, 256 random bits in base64url, and a CRC-32 of both in 8 hexadecimal digits, so that a
 * mistyped token is recognized without a look-up, and scanners find leaked ones.
 */
import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const pattern = /^tablog_[A-Za-z0-9_-]{43}[0-9a-f]{8}$/;

/** A new random token. It is shown once; only its hash is stored. */
export function newAccessToken(): string {
  const secret = `tablog_${randomBytes(32).toString('base64url')}`;
  return secret + checksum(secret);
}

/** How many characters of a token lists show. They are part of the checksum, which is computed from the secret. */
const shownCharacters = 6;

/** The last characters of a token. They distinguish it in a list, and do not help to guess it. */
export function endOfToken(token: string): string {
  return token.slice(-shownCharacters);
}

/** Whether the text has the form of a token, with a valid checksum. */
export function isAccessToken(token: string): boolean {
  return pattern.test(token) && token.endsWith(checksum(token.slice(0, -8)));
}

function checksum(secret: string): string {
  return crc32(secret).toString(16).padStart(8, '0');
}
