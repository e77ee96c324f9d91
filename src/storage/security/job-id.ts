/**
 * A job ID contains everything that a look-up of the job needs: the key of its outcome, and the deadline after which no
 * outcome can follow. The service signs it, so that nobody can forge a job ID or query another team's job.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SecretKeys } from './secret-keys.ts';

export interface Job {
  readonly teamId: string;
  readonly partition: number;
  readonly commandId: string;
  /** The deadline in log time after which its event has no effect, in milliseconds since 1970. */
  readonly notAfter: number;
  /** How many rows the request affects; null if that is not known before it is decided. */
  readonly rows: number | null;
  /** Distinguishes requests with the same Idempotency-Key: 64 bits of the request's digest. 0 without a key. */
  readonly requestTag: bigint;
}

/**
 * The bytes of a job ID before its signature: format, key and partition (1 byte each), team and command (16 each),
 * deadline (6), rows (4), tag (8).
 */
const jobBytes = 3 + 16 + 16 + 6 + 4 + 8;
const signatureBytes = 16;
const format = 2;
const unknownRows = 2 ** 32 - 1;

/** The tag of a request whose digest (base64url) is given; null: a request without an Idempotency-Key. */
export function requestTagOf(digest: string | null): bigint {
  return digest === null ? 0n : Buffer.from(digest, 'base64url').readBigUInt64BE(0);
}

/** 92 base64url characters. */
export function formatJobId(keys: SecretKeys, job: Job): string {
  const bytes = Buffer.alloc(jobBytes + signatureBytes);
  bytes.set([format, keys.current.id, job.partition]);
  bytes.set(bytesOfUuid(job.teamId), 3);
  bytes.set(bytesOfUuid(job.commandId), 19);
  bytes.writeUIntBE(job.notAfter, 35, 6);
  bytes.writeUInt32BE(job.rows ?? unknownRows, 41);
  bytes.writeBigUInt64BE(job.requestTag, 45);
  bytes.set(sign(keys.current.bytes, bytes), jobBytes);
  return bytes.toString('base64url');
}

/** Null if the text is no job ID, or has no valid signature. */
export function parseJobId(keys: SecretKeys, id: string): Job | null {
  const bytes = Buffer.from(id, 'base64url');
  if (bytes.length !== jobBytes + signatureBytes || bytes.toString('base64url') !== id || bytes[0] !== format)
    return null;
  const key = keys.find(bytes[1]!);
  if (key === null || !timingSafeEqual(sign(key.bytes, bytes), bytes.subarray(jobBytes))) return null;
  const rows = bytes.readUInt32BE(41);
  return {
    teamId: uuidOfBytes(bytes.subarray(3, 19)),
    partition: bytes[2]!,
    commandId: uuidOfBytes(bytes.subarray(19, 35)),
    notAfter: bytes.readUIntBE(35, 6),
    rows: rows === unknownRows ? null : rows,
    requestTag: bytes.readBigUInt64BE(45),
  };
}

/** HMAC-SHA-256, truncated to 16 bytes (RFC 2104, section 5). */
function sign(key: Uint8Array, bytes: Buffer): Buffer {
  return createHmac('sha256', key).update(bytes.subarray(0, jobBytes)).digest().subarray(0, signatureBytes);
}

function bytesOfUuid(uuid: string): Buffer {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex');
}

function uuidOfBytes(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
