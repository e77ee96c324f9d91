import { decodeEvent } from '../../src/events/event-codec.ts';
import type { Event } from '../../src/events/event.ts';
import type { LogRecord } from '../../src/log/event-log.ts';

/** A record, and the event that its bytes hold. */
export interface Entry {
  readonly record: LogRecord;
  readonly event: Event;
}

export function toEntry(record: LogRecord): Entry {
  return { record, event: record.event ?? decodeEvent(record.bytes) };
}
