/**
 * A block of a body as it is spooled until the body is whole: the segment of its rows, its profile, and the packed
 * rows.
 */
import type { PackedBody } from '../../../language/events/event-codec.ts';
import { decodeProfile, encodeProfile } from '../../../language/values/profile-codec.ts';
import type { Profile } from '../../../language/values/profile.ts';

export interface SpooledBlock {
  readonly segmentId: string;
  readonly profile: Profile;
  /** Whether its rows came with row IDs. */
  readonly hasIds: boolean;
  readonly body: PackedBody;
}

/** Bytes of the length that precedes the head. */
const lengthBytes = 4;

export function encodeBlock({ segmentId, profile, hasIds, body: { codec, bytes } }: SpooledBlock): Uint8Array {
  const head = Buffer.from(JSON.stringify({ segmentId, profile: encodeProfile(profile), hasIds, codec }));
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32BE(head.length);
  return Buffer.concat([length, head, bytes]);
}

export function decodeBlock(entry: Uint8Array): SpooledBlock {
  const buffer = Buffer.from(entry.buffer, entry.byteOffset, entry.byteLength);
  const headEnd = lengthBytes + buffer.readUInt32BE();
  const { profile, codec, ...head } = JSON.parse(buffer.toString('utf8', lengthBytes, headEnd));
  return { ...head, profile: decodeProfile(profile), body: { codec, bytes: buffer.subarray(headEnd) } };
}
