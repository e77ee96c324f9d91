/**
 * The body of an event with rows: row bodies in UTF-8, joined by line feeds. If the event has `ids`, the row IDs with
 * which the rows came follow, 16 bytes a row: the bytes of the ID, zeros for a row without an ID, ones for an invalid
 * ID.
 */
import type { EventRows } from './row-source.ts';

const idBytes = 16;

/** Joins the parts of a block into the body of an event. */
export function joinRowBodies({
  body,
  ids,
}: {
  readonly body: Uint8Array;
  readonly ids: Uint8Array | null;
}): Uint8Array {
  return ids === null ? body : Buffer.concat([body, ids]);
}

/** The part with the row bodies. */
export function rowTextOf(body: Uint8Array, rows: EventRows): Uint8Array {
  return rows.ids ? body.subarray(0, body.length - rows.profile.rows * idBytes) : body;
}

/** The part with the row IDs; null if the event carries none. */
export function rowIdsOf(body: Uint8Array, rows: EventRows): Uint8Array | null {
  return rows.ids ? body.subarray(body.length - rows.profile.rows * idBytes) : null;
}

/** The row IDs as text; null for a row without one. */
export function rowIdTexts(ids: Uint8Array): (string | null)[] {
  const bytes = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  return Array.from({ length: bytes.length / idBytes }, (_, row) => {
    const start = row * idBytes;
    return bytes.readBigUInt64BE(start) === 0n ? null : bytes.toString('base64url', start, start + idBytes);
  });
}
