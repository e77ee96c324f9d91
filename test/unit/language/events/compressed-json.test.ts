import { zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { costOfRecord } from '../../../../src/language/events/cost.ts';
import { RecordTooLarge, decodeEvent, encodeEvent, jsonBytesMax } from '../../../../src/language/events/event-codec.ts';
import type { Envelope, EventData } from '../../../../src/language/events/event.ts';
import { encodeHeader } from '../../../../src/language/events/record-header.ts';

const envelope: Envelope = { commandId: 'command', notAfter: 5, requestDigest: null };
const named = (name: string): EventData => ({ type: 'TeamCreated', teamId: 'team', name });

/** An event with so many bytes of JSON. */
const sized = (bytes: number): EventData =>
  named('x'.repeat(bytes - JSON.stringify({ ...envelope, data: named('') }).length));

/** A record as it was first written: the proof of a log hashes it, so it is never written anew. */
const compressedRecord =
  'AgAABwAAAGsBAieBgwEBKLUv/WBBBw0DAGKGFBqAS9IBPai2y4ga+VBEom2C1fywnrDohswZAcuy4baLh67xmnjNa9O8JgFeC9tdNHLFvjxznZMgO5EmFINEmjCaLoCdmohAHujaNgSDDvE4rAQDAJbP/xpVEOaJ8gU=';

describe('the JSON of an event', () => {
  const encoded = (jsonBytes: number): Buffer => Buffer.from(encodeEvent(envelope, sized(jsonBytes)).bytes);

  test('is compressed from 1 KiB on', () => {
    expect(encoded(1023).toString()).toContain('{"commandId":"command"');
    expect(encoded(1023)).toHaveLength(12 + 1023);
    expect(encoded(1024).length).toBeLessThan(200);
  });

  test('counts uncompressed to the cost and the memory of the event', () => {
    const event = encodeEvent(envelope, sized(100_000), { codec: 0, bytes: Buffer.alloc(10) });
    expect([event.size, event.cost, costOfRecord(event.bytes)]).toEqual([100_010, 108_010, 108_010]);
    expect(event.bytes.length).toBeLessThan(1000);
  });

  test('may be larger than a record, within its own limit', () => {
    const data = sized(jsonBytesMax);
    expect(decodeEvent(encodeEvent(envelope, data).bytes).data).toEqual(data);
    expect(() => encoded(jsonBytesMax + 1)).toThrow(RecordTooLarge);
  });

  test('is not decompressed beyond that limit', () => {
    const json = zstdCompressSync(Buffer.alloc(jsonBytesMax + 1, ' '));
    const bytes = Buffer.concat([encodeHeader(0, false, json.length, 0, 1), json]);
    expect(() => decodeEvent(bytes)).toThrow('larger than');
  });

  test('an event whose JSON has an unknown codec is unreadable', () => {
    const bytes = Buffer.concat([encodeHeader(0, false, 2, 0, 2), Buffer.from('{}')]);
    expect(() => decodeEvent(bytes)).toThrow('a record whose JSON has the unknown codec 2');
  });

  test('that is truncated makes a record unreadable', () => {
    const bytes = encoded(2000);
    for (let length = 0; length < bytes.length; length += 1)
      expect(() => decodeEvent(bytes.subarray(0, length))).toThrow();
  });

  test('stays readable in the form in which this version compressed it', () => {
    const { body, ...event } = decodeEvent(Buffer.from(compressedRecord, 'base64'));
    expect(event).toEqual({ ...envelope, data: named('ab'.repeat(1000)) });
    expect(body()).toHaveLength(0);
  });
});
