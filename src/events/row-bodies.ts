/**
 * The body of an event that carries rows: their bodies, joined by line feeds, in UTF-8; behind them, where the event says
 * so, the row IDs that they came with, 16 bytes a row (the bytes of a row ID; zeros for a row without one, ones for what
 * is no row's ID).
 */
import type { EventRows } from './event.ts';

const idBytes = 16;

/** Joins what a block holds to the body of an event. */
export function joinRowBodies({ body, ids }: { readonly body: Uint8Array; readonly ids: Uint8Array | null }): Uint8Array {
  return ids === null ? body : Buffer.concat([body, ids]);
}

/** The row bodies alone. */
export function rowTextOf(body: Uint8Array, rows: EventRows): Uint8Array {
  return rows.ids ? body.subarray(0, body.length - rows.profile.rows * idBytes) : body;
}

/** The row IDs alone; null where the rows came without. */
export function rowIdsOf(body: Uint8Array, rows: EventRows): Uint8Array | null {
  return rows.ids ? body.subarray(body.length - rows.profile.rows * idBytes) : null;
}

/** The row IDs as texts; null for a row without one. */
export function rowIdTexts(ids: Uint8Array): (string | null)[] {
  const bytes = Buffer.from(ids.buffer, ids.byteOffset, ids.byteLength);
  return Array.from({ length: bytes.length / idBytes }, (_, row) => {
    const start = row * idBytes;
    return bytes.readBigUInt64BE(start) === 0n ? null : bytes.toString('base64url', start, start + idBytes);
  });
}
