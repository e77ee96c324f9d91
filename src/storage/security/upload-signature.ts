/**
 * Signed URLs for the bytes of uploads, for deployments that store files in a folder. The URL contains everything that
 * the request needs, so receiving the bytes takes neither a token nor a query.
 */
import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { SecretKey, SecretKeys } from './secret-keys.ts';
import { isUploadId, type ExpectedUpload } from '../files/file-store.ts';

/** The query parameters, in the order in which they are signed. */
const parameters = ['contentType', 'sizeMax', 'expiresAt', 'keyID'] as const;

/** `<base>/uploads/<uploadId>?contentType=...&sizeMax=...&expiresAt=...&keyID=...&signature=...` */
export function signUploadUrl({ current }: SecretKeys, upload: ExpectedUpload, base: string): string {
  const { uploadId, contentType, sizeMax, expiresAt } = upload;
  const values = { contentType, sizeMax: String(sizeMax), expiresAt: String(expiresAt), keyID: String(current.id) };
  const signature = sign(
    current,
    uploadId,
    parameters.map((name) => values[name]),
  );
  return `${base.replace(/\/+$/, '')}/uploads/${uploadId}?${new URLSearchParams({ ...values, signature })}`;
}

/**
 * The upload of a URL made by `signUploadUrl`, from its path and decoded query. Null if the signature is invalid, or if
 * anything was changed, removed or added. The caller must check the expiry (`expiresAt`).
 */
export function verifyUploadUrl(
  keys: SecretKeys,
  uploadId: string,
  query: Readonly<Record<string, unknown>>,
): ExpectedUpload | null {
  const { signature, ...rest } = query;
  const texts = parameters.map((name) => rest[name]);
  if (Object.keys(rest).length !== parameters.length || !texts.every((text) => typeof text === 'string')) return null;
  const [contentType, sizeMax, expiresAt, keyId] = texts as [string, string, string, string];
  const key = keys.find(Number(keyId));
  if (key === null || typeof signature !== 'string' || !isUploadId(uploadId)) return null;
  // Sign and compare the texts, not their values, so that each URL has one spelling only.
  const expected = Buffer.from(sign(key, uploadId, texts as string[]));
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return { uploadId, contentType, sizeMax: Number(sizeMax), expiresAt: Number(expiresAt) };
}

/** HMAC-SHA-256 with a key derived for this purpose only (RFC 5869): a job's signature is never valid for a URL. */
function sign(key: SecretKey, uploadId: string, values: readonly string[]): string {
  const own = new Uint8Array(hkdfSync('sha256', key.bytes, '', 'tablog upload URL', 32));
  return createHmac('sha256', own)
    .update(JSON.stringify([uploadId, ...values]))
    .digest('base64url');
}
