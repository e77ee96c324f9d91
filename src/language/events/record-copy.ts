/**
 * A record that was copied to a log whose server gives each record the time at which it arrives there. It carries its
 * own time, and is else as it was, whatever its format: a byte for the format of copies, its time (8 bytes, unsigned,
 * big-endian, milliseconds since 1970), the record. Readers of the log take the copy off (`unwrapCopy`), so all else,
 * and every hash, is of the record as it was.
 */
const copyFormat = 3;
const prefixBytes = 9;

/** How much longer a copy is than its record, in bytes. */
export const copyBytes = prefixBytes;

/** What a copy holds. */
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

/** The record in a copy, without copying it again. Null for what is no copy. */
export function unwrapCopy(stored: Uint8Array): CopiedRecord | null {
  if (stored[0] !== copyFormat || stored.length < prefixBytes) return null;
  const time = Buffer.from(stored.buffer, stored.byteOffset, prefixBytes).readBigUInt64BE(1);
  return { time: Number(time), bytes: stored.subarray(prefixBytes) };
}
