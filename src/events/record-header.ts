/**
 * The header of a record: what is known of an event before its JSON is read. Numbers are unsigned and big-endian.
 *
 * | Bytes     | What                                                                              |
 * |-----------|-----------------------------------------------------------------------------------|
 * | 0         | format: 2                                                                         |
 * | 1         | codec of the body                                                                 |
 * | 2         | flags: bit 0 says that the event imports a stash; the others are 0, and passed over |
 * | 3         | length of the fields                                                              |
 * | 4 to 7    | length of the JSON                                                                |
 * | 8 and on  | the fields, then the JSON of the event, then its body up to the end of the record |
 *
 * A field is a byte for its tag, a byte for the length of its value, and the value. A reader passes over a field that it does
 * not know if the tag is below 0x80. A tag of 0x80 or above says that the record cannot be understood without the field, so a
 * reader that does not know it refuses the record. No field is written yet. These tags are reserved:
 *
 * | Tag  | Field  | Value                                                                                               |
 * |------|--------|-----------------------------------------------------------------------------------------------------|
 * | 0x01 | cost   | number of 1 to 8 bytes: the units of work that deciding and storing the event takes at most         |
 * | 0x81 | time   | number of 8 bytes, milliseconds since 1970: the time of the record in the log that it was copied from |
 * | 0x82 | key ID | 1 to 32 bytes: names the key that the values in the record are encrypted with                       |
 *
 * Format 1 had two bytes for a key ID, always 0, in place of the flags and the length of the fields. Such records are read for ever,
 * and no longer written.
 */
const format = 2;
const firstFormat = 1;
const fixedBytes = 8;
const importFlag = 1;
const neededFrom = 0x80;

export interface RecordHeader {
  /** How the body is compressed. */
  readonly codec: number;
  /** Where the JSON of the event begins, and where its body does. */
  readonly jsonStart: number;
  readonly bodyStart: number;
}

/** The header of a record that is to be written. */
export function encodeHeader(codec: number, isImport: boolean, jsonBytes: number): Buffer {
  const header = Buffer.alloc(fixedBytes);
  header.writeUInt8(format, 0);
  header.writeUInt8(codec, 1);
  header.writeUInt8(isImport ? importFlag : 0, 2);
  header.writeUInt32BE(jsonBytes, 4);
  return header;
}

/** Throws on a header that is cut short, or that this version does not understand. */
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

/** Nothing else that the JSON of format 1 holds reads so: quotes in a text are escaped. */
const importInFirstFormat = Buffer.from('"rows":{"kind":"stash"');

/**
 * Whether a record imports a stash. What that makes is not bounded by the record's bytes, so no other comes behind it in a batch.
 * False for what is no record.
 */
export function isImport(record: Uint8Array): boolean {
  if (record[0] === format) return (record[2]! & importFlag) !== 0;
  if (record[0] !== firstFormat || record.length < fixedBytes) return false;
  const buffer = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
  return buffer.subarray(fixedBytes, fixedBytes + buffer.readUInt32BE(4)).includes(importInFirstFormat);
}

function jsonStartOf(record: Buffer): number {
  return fixedBytes + (record[0] === firstFormat ? 0 : record[3]!);
}

/** Throws on a field that is cut short, or that must be understood and is not. */
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
