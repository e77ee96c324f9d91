import { describe, expect, test } from '@jest/globals';
import { decodeEvent, encodeEvent } from '../../../../src/language/events/event-codec.ts';
import type { Envelope, EventData } from '../../../../src/language/events/event.ts';
import {
  encodeHeader,
  readCost,
  readRecordHeader,
  readTraceContext,
} from '../../../../src/language/events/record-header.ts';

const json = Buffer.from('{}');

/** A record with such fields. */
function recordWith(fields: readonly number[], isImport = false): Buffer {
  const header = encodeHeader(1, isImport, json.length, 0).subarray(0, 8);
  header[3] = fields.length;
  return Buffer.concat([header, Buffer.from(fields), json, Buffer.from('body')]);
}

const cost = [0x01, 2, 0x12, 0x34];
const unknown = [0x7f, 0];
const time = [0x81, 8, 0, 0, 1, 0x9b, 0, 0, 0, 0];

test('a header always has the same bytes', () => {
  expect([...encodeHeader(1, false, 0x01020304, 0)]).toEqual([2, 1, 0, 3, 1, 2, 3, 4, 1, 1, 0]);
  expect([...encodeHeader(0, true, 0xffffffff, 8000)]).toEqual([2, 0, 1, 4, 255, 255, 255, 255, 1, 2, 0x1f, 0x40]);
  expect([...encodeHeader(1, false, 0x01020304, 8000, 1)]).toEqual([
    2, 1, 0, 7, 1, 2, 3, 4, 1, 2, 0x1f, 0x40, 0x83, 1, 1,
  ]);
});

describe('fields', () => {
  test.each<[string, number[]]>([
    ['none', []],
    ['one', cost],
    ['one without a value', unknown],
    ['several', [...cost, ...unknown, ...cost]],
    ['as many as there can be', [0x01, 251, ...Array.from({ length: 251 }, () => 0x81), ...unknown]],
  ])('that may be passed over are: %s', (_name, fields) => {
    const record = recordWith(fields);
    expect(readRecordHeader(record)).toEqual({
      codec: 1,
      jsonCodec: 0,
      jsonStart: 8 + fields.length,
      bodyStart: 10 + fields.length,
    });
  });

  test('name the compression of the JSON', () => {
    expect(readRecordHeader(recordWith([...cost, 0x83, 1, 7])).jsonCodec).toBe(7);
    expect(readCost(recordWith([0x83, 1, 7, ...cost]))).toBe(0x1234);
  });

  test('do not change the event and its body', () => {
    const envelope: Envelope = { commandId: 'command', notAfter: 5, requestDigest: null };
    const data: EventData = { type: 'TeamSuspended', teamId: 'team' };
    const plain = Buffer.from(encodeEvent(envelope, data, { codec: 0, bytes: Buffer.from('rows') }).bytes);
    const record = Buffer.concat([
      plain.subarray(0, 8),
      Buffer.from([...time.with(0, 0x02), ...unknown]),
      plain.subarray(8),
    ]);
    record[3] = plain[3]! + time.length + unknown.length;
    const { body, ...event } = decodeEvent(record);
    expect(event).toEqual({ ...envelope, data });
    expect(Buffer.from(body()).toString()).toBe('rows');
  });

  test.each<[string, number[], number]>([
    ['the only one', time, 0x81],
    ['behind others', [...cost, ...unknown, 0x82, 1, 9], 0x82],
    ['the first of its kind', [0x80, 0], 0x80],
    ['a codec of the JSON of two bytes', [0x83, 2, 0, 1], 0x83],
  ])('that must be understood and are not make a record unreadable: %s', (_name, fields, tag) => {
    expect(() => readRecordHeader(recordWith(fields))).toThrow(
      `a record that cannot be read without its field ${tag}, which this version does not know`,
    );
  });

  test.each<[string, number[]]>([
    ['behind its tag', [0x01]],
    ['within its value', [0x01, 2, 0x12]],
    ['behind its length', [...cost, 0x01, 1]],
  ])('one that is cut short %s makes a record unreadable', (_name, fields) => {
    expect(() => readRecordHeader(recordWith(fields))).toThrow('a record with a field that is cut short');
  });
});

describe('a header', () => {
  test('that is truncated anywhere throws', () => {
    const record = recordWith(cost);
    const bodyStart = 8 + cost.length + json.length;
    for (let length = 1; length < bodyStart; length += 1) {
      expect(() => readRecordHeader(record.subarray(0, length))).toThrow('a record that is cut short');
    }
    expect(readRecordHeader(record.subarray(0, bodyStart)).bodyStart).toBe(bodyStart);
  });

  test.each([
    ['of an unknown format', [3, 0, 0, 0, 0, 0, 0, 0], 'a record of an unknown format'],
    ['of no format', [0, 0, 0, 0, 0, 0, 0, 0], 'a record of an unknown format'],
    ['without bytes', [], 'a record of an unknown format'],
    ['of the first format that is cut short', [1, 0, 0], 'a record that is cut short'],
    [
      'of the first format with a key',
      [1, 0, 0, 1, 0, 0, 0, 0],
      'a record that is encrypted with a key this version does not know',
    ],
  ])('a header %s throws', (_name, bytes, message) =>
    expect(() => readRecordHeader(Buffer.from(bytes))).toThrow(message),
  );

  test('with unknown flags is read', () => {
    const record = recordWith([]);
    record[2] = 0xfe;
    expect(readRecordHeader(record).jsonStart).toBe(8);
  });
});

describe('the cost', () => {
  test.each([0, 1, 255, 256, 8000, 65_535, 65_536, 16_000_000, 2 ** 32 - 1, 2 ** 32, 2 ** 48 - 1])(
    '%d is read as it was written',
    (costs) => {
      expect(readCost(Buffer.concat([encodeHeader(0, false, json.length, costs), json]))).toBe(costs);
    },
  );

  test.each<[string, Uint8Array, number | null]>([
    ['behind other fields', recordWith([...unknown, ...cost]), 0x1234],
    ['of a record without fields', recordWith([]), null],
    ['of a record with other fields', recordWith([...unknown, ...time]), null],
    ['of a field that is cut short', recordWith([0x01, 2, 0x12]).subarray(0, 11), 0x12],
    ['of a record of the first format', Buffer.from([1, 0, 0, 0, 0, 0, 0, 2, ...json]), null],
    ['of what is no record', Buffer.from('no record'), null],
    ['of what is too short for one', new Uint8Array([2, 0]), null],
    ['of nothing', new Uint8Array(0), null],
  ])('the cost is read: %s', (_name, bytes, expected) => expect(readCost(bytes)).toBe(expected));
});

test('a traced record contains its span, and other readers skip it', () => {
  const trace = Buffer.alloc(25, 0xab);
  const header = encodeHeader(1, false, 2, 8000, 1, trace);
  const record = Buffer.concat([header, Buffer.from('{}')]);
  expect([...header.subarray(8)]).toEqual([1, 2, 0x1f, 0x40, 2, 25, ...trace, 0x83, 1, 1]);
  expect(readTraceContext(record)).toEqual(trace);
  expect(readCost(record)).toBe(8000);
  expect(readRecordHeader(record)).toEqual({
    codec: 1,
    jsonCodec: 1,
    jsonStart: header.length,
    bodyStart: record.length,
  });
  expect(readTraceContext(encodeHeader(1, false, 2, 8000, 1))).toBeNull();
  expect(readTraceContext(record.subarray(0, 20))).toHaveLength(6);
});
