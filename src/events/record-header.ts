/**
 * The header of a record: what can be read of an event without its JSON. Numbers are unsigned and big-endian.
 *
 * | Bytes     | What                                                                              |
 * |-----------|-----------------------------------------------------------------------------------|
 * | 0         | format: 2                                                                         |
 * | 1         | codec of the body                                                                 |
 * | 2         | flags: bit 0: the event imports a stash (for versions that know no cost); the others are 0, and ignored |
 * | 3         | length of the fields                                                              |
 * | 4 to 7    | length of the JSON                                                                |
 * | 8 and on  | the fields, then the JSON of the event, then its body up to the end of the record |
 *
 * A field is a byte for its tag, a byte for the length of its value, and the value. A reader skips an unknown field with a tag below
 * 0x80. A field with a tag of 0x80 or above is needed to understand the record, so a reader that does not know it refuses the
 * record. The cost is written; the other tags are reserved:
 *
 * | Tag  | Field  | Value                                                                                               |
 * |------|--------|-----------------------------------------------------------------------------------------------------|
 * | 0x01 | cost   | number of 1 to 6 bytes: how much work the event takes at most (cost.ts)                             |
 * | 0x81 | time   | number of 8 bytes, milliseconds since 1970: the time of the record in the log that it was copied from |
 * | 0x82 | key ID | 1 to 32 bytes: names the key that the values in the record are encrypted with                       |
 *
 * Format 1 had two bytes for a key ID, always 0, in place of the flags and the length of the fields. Readers support it for ever;
 * it is no longer written.
 */
const format = 2;
const firstFormat = 1;
const fixedBytes = 8;
const importFlag = 1;
const costTag = 0x01;
const neededFrom = 0x80;

export interface RecordHeader {
  /** How the body is compressed. */
  readonly codec: number;
  /** The offsets of the event's JSON and of its body in the record. */
  readonly jsonStart: number;
  readonly bodyStart: number;
}

/** Encodes the header of a record, with the cost of its event (cost.ts). */
export function encodeHeader(codec: number, isImport: boolean, jsonBytes: number, cost: number): Buffer {
  const costBytes = Math.max(1, Math.ceil(Math.log2(cost + 1) / 8));
  const header = Buffer.alloc(fixedBytes + 2 + costBytes);
  header.writeUInt8(format, 0);
  header.writeUInt8(codec, 1);
  header.writeUInt8(isImport ? importFlag : 0, 2);
  header.writeUInt8(2 + costBytes, 3);
  header.writeUInt32BE(jsonBytes, 4);
  header.writeUInt8(costTag, fixedBytes);
  header.writeUInt8(costBytes, fixedBytes + 1);
  header.writeUIntBE(cost, fixedBytes + 2, costBytes);
  return header;
}

/** Throws on a header that is truncated, or that this version does not understand. */
export function readHeader(record: Buffer): RecordHeader {
  const isFirst = record[0] === firstFormat;
  if (record[0] !== format && !isFirst) throw new Error('a record of an unknown format');
  if (record.length < fixedBytes) throw cutShort();
  if (isFirst && record.readUInt16BE(2) !== 0) throw new Error('a record that is encrypted with a key this version does not know');
  const jsonStart = jsonStartOf(record);
  const bodyStart = jsonStart + record.readUInt32BE(4);
  if (bodyStart > record.length) throw cutShort();
  checkFields(record.subarray(fixedBytes, jsonStart));
  return { codec: record[1]!, jsonStart, bodyStart };
}

/** The cost in the header of a record. Null if it has none, as those of older versions, or is no record. */
export function readCost(record: Uint8Array): number | null {
  if (record[0] !== format || record.length < fixedBytes) return null;
  const end = Math.min(fixedBytes + record[3]!, record.length);
  for (let at = fixedBytes; at + 1 < end; at += 2 + record[at + 1]!) {
    if (record[at] !== costTag) continue;
    const value = record.subarray(at + 2, Math.min(at + 2 + record[at + 1]!, end));
    return value.reduce((cost, byte) => cost * 256 + byte, 0);
  }
  return null;
}

function jsonStartOf(record: Buffer): number {
  return fixedBytes + (record[0] === firstFormat ? 0 : record[3]!);
}

/** Throws on a field that is truncated, or that is required and unknown. */
function checkFields(fields: Buffer): void {
  for (let at = 0; at < fields.length; at += 2 + fields[at + 1]!) {
    const tag = fields[at]!;
    if (at + 1 >= fields.length || at + 2 + fields[at + 1]! > fields.length) throw new Error('a record with a field that is cut short');
    if (tag >= neededFrom) throw new Error(`a record that cannot be read without its field ${tag}, which this version does not know`);
  }
}

function cutShort(): Error {
  return new Error('a record that is cut short');
}
