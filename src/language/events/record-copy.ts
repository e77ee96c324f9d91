/**
 * A record that was copied to a log whose server sets the time of each record to its arrival. The copy carries the
 * original time: a byte for the format of copies, the time (8 bytes, unsigned, big-endian, milliseconds since 1970),
 * then the unchanged record in its own format. Readers of the log unwrap the copy (`unwrapCopy`), so that all other
 * code, and every hash, sees the original record.
 */
const copyFormat = 3;
const prefixBytes = 9;

/** How many bytes a copy adds to its record. */
export const copyBytes = prefixBytes;

/** The content of a copy. */
interface CopiedRecord {
  /** The time of the record in the log that it was copied from. */
  readonly time: number;
  readonly bytes: Uint8Array;
}

/** The copy of a record. */
export function wrapCopy({ time, bytes }: CopiedRecord): Uint8Array {
  const copy = Buffer.allocUnsafe(prefixBytes + bytes.length);
  copy[0] = copyFormat;
  copy.writeBigUInt64BE(BigInt(time), 1);
  copy.set(bytes, prefixBytes);
  return copy;
}

/** The record in a copy, as a view. Null if the bytes are no copy. */
export function unwrapCopy(stored: Uint8Array): CopiedRecord | null {
  if (stored[0] !== copyFormat || stored.length < prefixBytes) return null;
  const time = Buffer.from(stored.buffer, stored.byteOffset, prefixBytes).readBigUInt64BE(1);
  return { time: Number(time), bytes: stored.subarray(prefixBytes) };
}
