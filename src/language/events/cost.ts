/**
 * The cost of an event: an upper bound for the work to load, decide and store it. A byte of a record costs about 1, and
 * a simple event 8,000 (about 0.1 ms). The cost is known when the event is appended, is stored in the header of its
 * record, and bounds batches.
 */
import { unknownCost } from './cost-of-rows.ts';
import { definitionOf, type EventData } from './event.ts';
import { readCost } from './record-header.ts';

/** The cost of any event. */
const eventCost = 8_000;

/** The cost of an event. `bytes`: the size of its JSON and its body. */
export function costOf(data: EventData, bytes: number): number {
  const { cost, fields } = definitionOf(data.type)!;
  const values = data as unknown as Readonly<Record<string, unknown>>;
  const ofContent =
    cost?.(data as never) ??
    Object.entries(fields).reduce((sum, [name, field]) => {
      const value = values[name];
      return value === undefined ? sum : sum + (field.cost?.(value) ?? 0);
    }, 0);
  return eventCost + bytes + ofContent;
}

/**
 * Found in the JSON of events that refer to rows elsewhere: an import, and the end of a body. Quotes within strings are
 * escaped, so these texts cannot occur there.
 */
const references = ['"rows":{"kind":"stash"', '"rows":{"kind":"body"'].map((text) => Buffer.from(text));

/**
 * The cost of an event from its record. An earlier version may have recorded no cost, and the bytes may be no record at
 * all.
 */
export function costOfRecord(record: Uint8Array): number {
  const cost = readCost(record);
  if (cost !== null) return cost;
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
  return references.some((text) => bytes.includes(text)) ? unknownCost : eventCost + record.length;
}
