/**
 * Row IDs: 22 characters, the base64url of 16 bytes: the version of the event that added the row (8), the ordinal of
 * its extent in that event (4), its index in the extent (4), all big-endian (docs/spec/decisions.md 2). Replay yields
 * the same IDs.
 */

/** A decoded row ID. */
export interface RowAddress {
  readonly version: bigint;
  readonly ordinal: number;
  readonly index: number;
}

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const digitCodes = Buffer.from(digits);

/** The 16 characters that all rows of an extent share. (Twelve bytes are exactly sixteen digits.) */
export function rowIdPrefix(version: bigint, ordinal: number): string {
  const bytes = Buffer.alloc(12);
  bytes.writeBigUInt64BE(version, 0);
  bytes.writeUInt32BE(ordinal, 8);
  return bytes.toString('base64url');
}

/** The 6 characters that distinguish the rows of an extent. */
export function rowIdSuffix(index: number): string {
  return (
    digits[index >>> 26]! +
    digits[(index >>> 20) & 63]! +
    digits[(index >>> 14) & 63]! +
    digits[(index >>> 8) & 63]! +
    digits[(index >>> 2) & 63]! +
    digits[(index & 3) << 4]!
  );
}

/** Writes the result of `rowIdSuffix`. Returns the index after it. */
export function writeRowIdSuffix(bytes: Uint8Array, start: number, index: number): number {
  bytes[start] = digitCodes[index >>> 26]!;
  bytes[start + 1] = digitCodes[(index >>> 20) & 63]!;
  bytes[start + 2] = digitCodes[(index >>> 14) & 63]!;
  bytes[start + 3] = digitCodes[(index >>> 8) & 63]!;
  bytes[start + 4] = digitCodes[(index >>> 2) & 63]!;
  bytes[start + 5] = digitCodes[(index & 3) << 4]!;
  return start + 6;
}

/** The 16 bytes of the ID in work: a new buffer for each ID takes four times as long. */
const idBytes = Buffer.alloc(16);

export function formatRowId({ version, ordinal, index }: RowAddress): string {
  idBytes.writeBigUInt64BE(version, 0);
  idBytes.writeUInt32BE(ordinal, 8);
  idBytes.writeUInt32BE(index, 12);
  return idBytes.toString('base64url');
}

/** Null if no row can have this ID. */
export function parseRowId(text: string): RowAddress | null {
  if (text.length !== 22) return null;
  if (idBytes.write(text, 'base64url') !== 16 || idBytes.toString('base64url') !== text) return null;
  const version = idBytes.readBigInt64BE(0);
  const ordinal = idBytes.readInt32BE(8);
  const index = idBytes.readInt32BE(12);
  return version < 0n || ordinal < 0 || index < 0 ? null : { version, ordinal, index };
}
