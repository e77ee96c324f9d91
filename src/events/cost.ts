/**
 * The cost of an event: how much work it takes at most to load, decide and store, where a byte of a record is about 1, and a simple event
 * 8,000 (about 0.1 ms). It is known when the event is appended, stands in the header of its record, and bounds batches.
 */
import type { Profile } from '../values/profile.ts';
import type { BodyContent, EventData } from './event.ts';
import { readCost } from './record-header.ts';

/** Of any event, of each column of a profile, and of each row that came with a row ID. */
const eventCost = 8_000;
const columnCost = 128;
const rowIdCost = 200;

/** Of an import, and of the blocks of a body where nothing is known of them: that of several batches. */
const unknownCost = 16_000_000;

/** What a block of rows holds. `hasIds`: whether some of its rows came with row IDs. */
export function contentOf({ columns, rows }: Profile, hasIds: boolean): BodyContent {
  return { columns: columns.length, rowIds: hasIds ? rows : 0 };
}

/** The cost of an event. `bytes`: of its JSON and its body. */
export function costOf(data: EventData, bytes: number): number {
  return eventCost + bytes + contentCost(data);
}

function contentCost(data: EventData): number {
  if (data.type === 'BlockReceived') return rowsCost(contentOf(data.profile, data.ids === true));
  if ('profile' in data) return rowsCost(contentOf(data.profile, false));
  if (!('rows' in data)) return 0;
  const { rows } = data;
  switch (rows.kind) {
    case 'none': return 0;
    case 'few': case 'block': return rowsCost(contentOf(rows.profile, rows.ids === true));
    case 'body': return rows.content === undefined ? unknownCost : rowsCost(rows.content);
    case 'stash': return unknownCost;
  }
}

function rowsCost({ columns, rowIds }: BodyContent): number {
  return columns * columnCost + rowIds * rowIdCost;
}

/** In the JSON of events that refer to rows elsewhere: an import, and the end of a body. Quotes in strings are escaped. */
const references = ['"rows":{"kind":"stash"', '"rows":{"kind":"body"'].map((text) => Buffer.from(text));

/** The cost of an event by its record, which may be of a version that noted none, or be none at all. */
export function costOfRecord(record: Uint8Array): number {
  const cost = readCost(record);
  if (cost !== null) return cost;
  const bytes = Buffer.from(record.buffer, record.byteOffset, record.byteLength);
  return references.some((text) => bytes.includes(text)) ? unknownCost : eventCost + record.length;
}
