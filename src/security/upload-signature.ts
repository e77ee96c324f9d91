/**
 * The URL that bytes are sent to where the store is a folder of this service. It says all that the request needs, and is signed,
 * so that neither a token nor a look at the database is needed to let the bytes in.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { SecretKey, SecretKeys } from './secret-keys.ts';
import { isUploadId, type ExpectedUpload } from '../files/file-store.ts';

/** What the query consists of, in the order in which it is signed. */
const parameters = ['contentType', 'sizeMax', 'expiresAt', 'keyID'] as const;

/** `<base>/uploads/<uploadId>?contentType=...&sizeMax=...&expiresAt=...&keyID=...&signature=...` */
export function signUploadUrl({ current }: SecretKeys, upload: ExpectedUpload, base: string): string {
  const { uploadId, contentType, sizeMax, expiresAt } = upload;
  const values = { contentType, sizeMax: String(sizeMax), expiresAt: String(expiresAt), keyID: String(current.id) };
  const signature = sign(current, uploadId, parameters.map((name) => values[name]));
  return `${base.replace(/\/+$/, '')}/uploads/${uploadId}?${new URLSearchParams({ ...values, signature })}`;
}

/**
 * What a URL of `signUploadUrl` was made for, from its path and its decoded query. Null for one that was not made here, or of which
 * anything was changed, left out or added. Whether its time is over (`expiresAt`) is for the caller to see.
 */
export function verifyUploadUrl(keys: SecretKeys, uploadId: string, query: Readonly<Record<string, unknown>>): ExpectedUpload | null {
  const { signature, ...rest } = query;
  const texts = parameters.map((name) => rest[name]);
  if (Object.keys(rest).length !== parameters.length || !texts.every((text) => typeof text === 'string')) return null;
  const [contentType, sizeMax, expiresAt, keyId] = texts as [string, string, string, string];
  const key = keys.find(Number(keyId));
  if (key === null || typeof signature !== 'string' || !isUploadId(uploadId)) return null;
  // Texts are signed and compared, not what they stand for: there is one way to write a URL.
  const expected = Buffer.from(sign(key, uploadId, texts as string[]));
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return { uploadId, contentType, sizeMax: Number(sizeMax), expiresAt: Number(expiresAt) };
}

/** HMAC with SHA-256, under a key that is used for nothing else (RFC 5869): no signature of a job is one of a URL. */
function sign(key: SecretKey, uploadId: string, values: readonly string[]): string {
  const own = new Uint8Array(hkdfSync('sha256', key.bytes, '', 'tablog upload URL', 32));
  return createHmac('sha256', own).update(JSON.stringify([uploadId, ...values])).digest('base64url');
}
