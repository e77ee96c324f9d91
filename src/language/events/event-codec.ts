/** The encoding of events: a header (`record-header.ts`), the event as JSON, and the row bodies that it carries. */
import { promisify } from 'node:util';
import { constants, zstdCompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { costOf } from './cost.ts';
import { importedStash } from './event-names.ts';
import { definitionOf, type EncodedEvent, type Envelope, type Event, type EventData } from './event.ts';
import { languageOf } from './language.ts';
import { codecs, encodeHeader, readRecordHeader } from './record-header.ts';

/** Maximum of a decompressed body. A block and a row have at most 512 KiB each. */
const bodyBytesMax = 2 * 1024 * 1024;
/** Maximum of the JSON before compression: 2,000 columns with the longest names and several misfits each. */
export const jsonBytesMax = 4 * 1024 * 1024;
/** Smaller bodies, and smaller JSON, gain nothing from compression. */
const compressFromBytes = 1024;
/** The fastest level. */
const params = { [constants.ZSTD_c_compressionLevel]: 1 };
/** Fits the compressed size of most blocks. Each further chunk of output costs a turn of the event loop. */
const compressedAtOnce = 128 * 1024;
/** Maximum of a record. It leaves room below the 1 MB that brokers accept by default. */
export const recordBytesMax = 900_000;
/** Maximum of a header: its fixed part and all its fields. */
const headerBytesMax = 8 + 255;

/** A body, or the JSON of an event, as it is stored in the record. */
export interface PackedBody {
  readonly codec: number;
  readonly bytes: Uint8Array;
}

const noBody: PackedBody = { codec: codecs.none, bytes: new Uint8Array(0) };
const compress = promisify(zstdCompress);

/** Compresses a body on another thread if it is large enough to gain from it. */
export async function packBody(body: Uint8Array): Promise<PackedBody> {
  if (body.length < compressFromBytes) return { codec: codecs.none, bytes: body };
  const bytes = await compress(body, { chunkSize: compressedAtOnce, params });
  return { codec: codecs.zstd, bytes };
}

/** Throws RecordTooLarge. `trace`: the span for the record, if the request is traced. */
export function encodeEvent(
  envelope: Envelope,
  data: EventData,
  body: PackedBody = noBody,
  trace: Uint8Array | null = null,
): EncodedEvent {
  const json = Buffer.from(JSON.stringify({ ...envelope, data: toWire(data) }));
  if (json.length > jsonBytesMax)
    throw new RecordTooLarge(`an event with ${json.length} bytes of JSON, of which there may be ${jsonBytesMax}`);
  const isImport = importedStash(data) !== null;
  const size = json.length + body.bytes.length;
  const cost = costOf(data, size);
  const packed = packJson(json);
  // Reserve room for a trace, so that tracing does not decide whether an event fits.
  const hasRoom = packed.bytes.length + body.bytes.length + headerBytesMax <= recordBytesMax;
  const header = encodeHeader(body.codec, isImport, packed.bytes.length, cost, packed.codec, hasRoom ? trace : null);
  const bytes = Buffer.concat([header, packed.bytes, body.bytes]);
  if (bytes.length > recordBytesMax)
    throw new RecordTooLarge(`an event of ${bytes.length} bytes, of which a record holds ${recordBytesMax}`);
  const event = { ...envelope, data, body: () => unpackBody(body.codec, body.bytes) };
  return { commandId: envelope.commandId, bytes, size, cost, language: languageOf(data), event };
}

/**
 * Throws for bytes that no version of this codec wrote, because an unreadable record must halt its partition and never
 * be skipped.
 */
export function decodeEvent(bytes: Uint8Array): Event {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { codec, jsonCodec, jsonStart, bodyStart } = readRecordHeader(buffer);
  const event = JSON.parse(unpackJson(jsonCodec, buffer, jsonStart, bodyStart));
  event.data = fromWire(event.data);
  event.body = () => unpackBody(codec, buffer.subarray(bodyStart));
  return event as Event;
}

/** The event does not fit into a record: its JSON alone is too large, or JSON and body together after compression. */
export class RecordTooLarge extends Error {
  override readonly name = 'RecordTooLarge';
}

/** Compresses on this thread, which takes a fraction of the time that making the JSON took. */
function packJson(json: Buffer): PackedBody {
  if (json.length < compressFromBytes) return { codec: codecs.none, bytes: json };
  return { codec: codecs.zstd, bytes: zstdCompressSync(json, { params }) };
}

function unpackJson(codec: number, record: Buffer, start: number, end: number): string {
  if (codec === codecs.none) return record.toString('utf8', start, end);
  if (codec === codecs.zstd)
    return zstdDecompressSync(record.subarray(start, end), { maxOutputLength: jsonBytesMax }).toString();
  throw new Error(`a record whose JSON has the unknown codec ${codec}`);
}

function unpackBody(codec: number, bytes: Uint8Array): Uint8Array {
  if (codec === codecs.none) return bytes;
  if (codec === codecs.zstd)
    return zstdDecompressSync(bytes, { maxOutputLength: bodyBytesMax, chunkSize: chunkSizeFor(bytes) });
  throw new Error(`a record whose body has the unknown codec ${codec}`);
}

/**
 * How many bytes of a body are decompressed at once: mostly all, because rows compress to a fifth of their size. Small
 * chunks would take half as long again.
 */
function chunkSizeFor({ length }: Uint8Array): number {
  return Math.min(1024 * 1024, Math.max(16 * 1024, 6 * length));
}

/** Converts only fields that JSON cannot hold. (A replacer would be called for every value of a profile.) */
function toWire(data: EventData): unknown {
  const wire: Record<string, unknown> = { ...data };
  for (const [name, { toWire: convert }] of Object.entries(definitionOf(data.type)!.fields)) {
    if (convert !== undefined && name in wire) wire[name] = convert(wire[name]);
  }
  return wire;
}

/** Leaves a type of a newer version as it is. The code that decides it detects that it cannot. */
function fromWire(wire: Record<string, unknown>): EventData {
  const data = { ...wire };
  for (const [name, { fromWire: convert, absent }] of Object.entries(
    definitionOf(String(wire['type']))?.fields ?? {},
  )) {
    if (!(name in data)) {
      if (absent !== undefined) data[name] = absent;
    } else if (convert !== undefined) {
      data[name] = convert(data[name]);
    }
  }
  return data as EventData;
}
