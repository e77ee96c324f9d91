import { decodeEvent } from '../../language/events/event-codec.ts';
import { type Event } from '../../language/events/event.ts';
import { teamOf } from '../../language/events/event-names.ts';
import type { CommandId, LogRecord } from '../event-log.ts';
import type { HeldTeams } from '../quarantine/held-teams.ts';

/** A record, and the event that was decoded from its bytes. */
export interface Entry {
  readonly record: LogRecord;
  readonly event: Event;
}

export function toEntry(record: LogRecord): Entry {
  return { record, event: record.event ?? decodeEvent(record.bytes) };
}

/** The entries to decide, and the commands of the held entries. */
export function withoutHeld(
  entries: readonly Entry[],
  { since }: HeldTeams,
): readonly [active: readonly Entry[], held: ReadonlySet<CommandId>] {
  if (since.size === 0) return [entries, new Set()];
  const isHeld = ({ event }: Entry): boolean => since.has(teamOf(event.data));
  return [
    entries.filter((entry) => !isHeld(entry)),
    new Set(entries.filter(isHeld).map(({ event }) => event.commandId)),
  ];
}
