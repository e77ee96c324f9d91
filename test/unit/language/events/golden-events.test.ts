/** Every type of event is written to the log, and read from it, as it was when the type came: byte by byte. */
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { decodeEvent, encodeEvent } from '../../../../src/language/events/event-codec.ts';
import type { EventData } from '../../../../src/language/events/event.ts';
import { eventSamples } from './event-samples.ts';

/**
 * A line for each sample: the type of the event, its number, and its record. The JSON of a record stands in it as it
 * is.
 */
const golden = readFileSync(new URL('../../../fixtures/events.txt', import.meta.url), 'latin1')
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [type, at, header, json] = /^(\w+) (\d+) ([\da-f]+) (.*)$/.exec(line)!.slice(1) as [
      string,
      string,
      string,
      string,
    ];
    return [type, Number(at), Buffer.concat([Buffer.from(header, 'hex'), Buffer.from(json, 'latin1')])] as const;
  });
const envelope = {
  commandId: '01890000-0000-7000-8000-0000000000ff',
  notAfter: 1_700_000_000_000,
  requestDigest: null,
};

test('every sample has its stored bytes, and no stored bytes are unused', () => {
  const samples = Object.entries(eventSamples).flatMap(([type, events]) => events.map((_event, at) => `${type} ${at}`));
  expect(golden.map(([type, at]) => `${type} ${at}`)).toEqual(samples);
});

test.each(golden)('%s %d is written and read as before', (type, at, bytes) => {
  const data = (eventSamples as Readonly<Record<string, readonly EventData[]>>)[type]![at]!;
  expect(Buffer.from(encodeEvent(envelope, data).bytes).toString('latin1')).toBe(bytes.toString('latin1'));
  const { body, ...event } = decodeEvent(bytes);
  expect([event, body()]).toEqual([{ ...envelope, data }, Buffer.alloc(0)]);
});
