/**
 * The `continuation` of a page of rows: a place in a generation of one table. It is self-contained, so it outlives
 * restarts and is understood by every process (decisions 3).
 */
import { createHash } from 'node:crypto';
import type { PagePosition } from '../../projections/tables/pages.queries.ts';
import { HttpError } from './http-error.ts';

const positionBytes = 24;
const checksumBytes = 6;

export function formatContinuation(tableId: string, { generation, version, ordinal, index }: PagePosition): string {
  const bytes = Buffer.alloc(positionBytes);
  bytes.writeBigUInt64BE(generation, 0);
  bytes.writeBigUInt64BE(version, 8);
  bytes.writeUInt32BE(ordinal, 16);
  bytes.writeUInt32BE(index, 20);
  return Buffer.concat([bytes, checksum(tableId, bytes)]).toString('base64url');
}

/** Throws HttpError for a text that no page of this table gave. */
export function parseContinuation(tableId: string, text: string): PagePosition {
  const bytes = Buffer.from(text, 'base64url');
  const position = bytes.subarray(0, positionBytes);
  if (
    bytes.length !== positionBytes + checksumBytes ||
    bytes.toString('base64url') !== text ||
    !bytes.subarray(positionBytes).equals(checksum(tableId, position))
  ) {
    throw new HttpError('request_validation_error', 'query.continuation: no page of this table gave it.');
  }
  return {
    generation: position.readBigUInt64BE(0),
    version: position.readBigUInt64BE(8),
    ordinal: position.readUInt32BE(16),
    index: position.readUInt32BE(20),
  };
}

/** Guards against mistakes, such as the continuation of another table; what it points to is checked by the query. */
function checksum(tableId: string, position: Buffer): Buffer {
  return createHash('sha256').update(tableId).update(position).digest().subarray(0, checksumBytes);
}
