/**
 * The `continuation` of a page of rows: a position in a generation of one table. It is self-contained, so it survives restarts and
 * works on every process (docs/spec/decisions.md 3).
 */
import { createHash } from 'node:crypto';
import type { PagePosition } from '../../../projections/tables/pages.queries.ts';
import { HttpError } from '../answers/http-error.ts';

const positionBytes = 24;
const checksumBytes = 6;

/**
 * The largest values of a position: those of `int8` and `int4`. The index is smaller, so that adding a segment's index to it still
 * fits an `int4`.
 */
const versionMax = 2n ** 63n - 1n;
const ordinalMax = 2 ** 31 - 1;
const indexMax = 2 ** 30;

export function formatContinuation(tableId: string, { generation, version, ordinal, index }: PagePosition): string {
  const bytes = Buffer.alloc(positionBytes);
  bytes.writeBigUInt64BE(generation, 0);
  bytes.writeBigUInt64BE(version, 8);
  bytes.writeUInt32BE(ordinal, 16);
  bytes.writeUInt32BE(index, 20);
  return Buffer.concat([bytes, checksum(tableId, bytes)]).toString('base64url');
}

/** Throws HttpError for a text that no page of this table returned. */
export function parseContinuation(tableId: string, text: string): PagePosition {
  const bytes = Buffer.from(text, 'base64url');
  const position = bytes.subarray(0, positionBytes);
  if (
    bytes.length !== positionBytes + checksumBytes ||
    bytes.toString('base64url') !== text ||
    !bytes.subarray(positionBytes).equals(checksum(tableId, position))
  ) {
    throw notGiven();
  }
  const generation = position.readBigUInt64BE(0);
  const version = position.readBigUInt64BE(8);
  const ordinal = position.readUInt32BE(16);
  const index = position.readUInt32BE(20);
  if (generation > versionMax || version > versionMax || ordinal > ordinalMax || index > indexMax) throw notGiven();
  return { generation, version, ordinal, index };
}

function notGiven(): HttpError {
  return new HttpError('request_validation_error', 'query.continuation: no page of this table gave it.');
}

/** Detects mistakes, such as the continuation of another table. It is not a signature: the query checks what it points to. */
function checksum(tableId: string, position: Buffer): Buffer {
  return createHash('sha256').update(tableId).update(position).digest().subarray(0, checksumBytes);
}
