/**
 * The header of a record: what can be read of an event without its JSON. Numbers are unsigned and big-endian.
 *
 * | Bytes     | What                                                                              |
 * |-----------|-----------------------------------------------------------------------------------|
 * | 0         | format: 2                                                                         |
 * | 1         | codec of the body                                                                 |
 * | 2         | flags: bit 0: the event imports a stash (for versions that know no cost); the others are 0, and ignored
 * |
 * | 3         | length of the fields                                                              |
 * | 4 to 7    | length of the JSON as it stands in the record                                     |
 * | 8 and on  | the fields, then the JSON of the event, then its body up to the end of the record |
 *
 * A field is a byte for its tag, a byte for the length of its value, and the value. A reader skips an unknown field
 * with a tag below 0x80. A field with a tag of 0x80 or above is needed to understand the record, so a reader that does
 * not know it refuses the record. Tags 0x01, 0x02 and 0x83 are written; 0x82 is reserved, and 0x81, once meant for the
 * time of a copy, stays unused (`record-copy.ts`):
 *
 * | Tag  | Field      | Value  
 *       |
 * |------|------------|-------------------------------------------------------------------------------------------------------|
 * | 0x01 | cost       | number of 1 to 6 bytes: how much work the event takes at most (cost.ts)  
 *       |
 * | 0x02 | trace      | 25 bytes, only of requests that are traced: trace ID, span ID, flags, for the span of its
 * projection  |
 * | 0x82 | key ID     | 1 to 32 bytes: names the key that the values in the record are encrypted with  
 *       |
 * | 0x83 | JSON codec | a byte: how the JSON is compressed; absent: not at all  
 *       |
 *
 * Format 1 had two bytes for a key ID, always 0, in place of the flags and the length of the fields. Readers support it
 * for ever; it is no longer written. Format 3 is that of copies, which hold a record of any format (`record-copy.ts`).
 */
const format = 2;
const firstFormat = 1;
const fixedBytes = 8;
const importFlag = 1;
const costTag = 0x01;
const traceTag = 0x02;
const jsonCodecTag = 0x83;
const neededFrom = 0x80;

/** How a part of a record may be compressed. */
export const codecs = { none: 0, zstd: 1 } as const;

interface RecordHeader {
  /** The compression of the body and of the JSON. */
  readonly codec: number;
  readonly jsonCodec: number;
  /** The offsets of the event's JSON and of its body in the record. */
  readonly jsonStart: number;
  readonly bodyStart: number;
}

/**
 * Encodes the header of a record, with the cost of its event (cost.ts). `jsonBytes`: the length of the JSON in the
 * record. `trace`: the span of the record (src/api/tracing/trace-context.ts); null: none.
 */
export function encodeHeader(
  codec: number,
  isImport: boolean,
  jsonBytes: number,
  cost: number,
  jsonCodec: number = codecs.none,
  trace: Uint8Array | null = null,
): Buffer {
  const costBytes = Math.max(1, Math.ceil(Math.log2(cost + 1) / 8));
  const costField = Buffer.alloc(2 + costBytes, Buffer.from([costTag, costBytes]));
  costField.writeUIntBE(cost, 2, costBytes);
  const fields =
    jsonCodec === codecs.none && trace === null
      ? costField
      : Buffer.concat([
          costField,
          ...(trace === null ? [] : [Buffer.from([traceTag, trace.length]), trace]),
          ...(jsonCodec === codecs.none ? [] : [Buffer.from([jsonCodecTag, 1, jsonCodec])]),
        ]);
  const fixed = Buffer.from([format, codec, isImport ? importFlag : 0, fields.length, 0, 0, 0, 0]);
  fixed.writeUInt32BE(jsonBytes, 4);
  return Buffer.concat([fixed, fields]);
}

/** Throws on a header that is truncated, or that this version does not understand. */
export function readRecordHeader(record: Buffer): RecordHeader {
  const isFirst = record[0] === firstFormat;
  if (record[0] !== format && !isFirst) throw new Error('a record of an unknown format');
  if (record.length < fixedBytes) throw cutShort();
  if (isFirst && record.readUInt16BE(2) !== 0)
    throw new Error('a record that is encrypted with a key this version does not know');
  const jsonStart = jsonStartOf(record);
  const bodyStart = jsonStart + record.readUInt32BE(4);
  if (bodyStart > record.length) throw cutShort();
  return { codec: record[1]!, jsonCodec: readJsonCodec(record, jsonStart), jsonStart, bodyStart };
}

/**
 * The cost in the header of a record. Null if the header has none, as in older versions, or if the bytes are no record.
 */
export function readCost(record: Uint8Array): number | null {
  const field = findField(record, costTag);
  if (field === null) return null;
  let cost = 0;
  for (let at = field.start; at < field.end; at += 1) cost = cost * 256 + record[at]!;
  return cost;
}

/** The span of a record. Null if its request was not traced, or if the bytes are no record. */
export function readTraceContext(record: Uint8Array): Uint8Array | null {
  const field = findField(record, traceTag);
  return field && record.subarray(field.start, field.end);
}

/**
 * The place of a field's value; null if the record has no field with this tag. Not a view, because this runs for each
 * record, and making a view would take longer than the rest.
 */
function findField(record: Uint8Array, tag: number): { readonly start: number; readonly end: number } | null {
  if (record[0] !== format || record.length < fixedBytes) return null;
  const end = Math.min(fixedBytes + record[3]!, record.length);
  for (let at = fixedBytes; at + 1 < end; at += 2 + record[at + 1]!) {
    if (record[at] === tag) return { start: at + 2, end: Math.min(at + 2 + record[at + 1]!, end) };
  }
  return null;
}

function jsonStartOf(record: Buffer): number {
  return fixedBytes + (record[0] === firstFormat ? 0 : record[3]!);
}

/** Throws for a field that is truncated, or required and unknown. `end`: the end of the fields. */
function readJsonCodec(record: Buffer, end: number): number {
  let jsonCodec: number = codecs.none;
  for (let at = fixedBytes; at < end; at += 2 + record[at + 1]!) {
    const tag = record[at]!;
    if (at + 1 >= end || at + 2 + record[at + 1]! > end) throw new Error('a record with a field that is cut short');
    if (tag === jsonCodecTag && record[at + 1] === 1) jsonCodec = record[at + 2]!;
    else if (tag >= neededFrom)
      throw new Error(`a record that cannot be read without its field ${tag}, which this version does not know`);
  }
  return jsonCodec;
}

function cutShort(): Error {
  return new Error('a record that is cut short');
}
