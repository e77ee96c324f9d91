import { randomUUIDv7 } from 'node:crypto';
import { encodeEvent } from '../language/events/event-codec.ts';
import type { EventData } from '../language/events/event.ts';
import type { EventLog } from './event-log.ts';
import { partitionOf } from './partition.ts';

/**
 * Appends an event that cannot be refused to the partition of its team. A retry must pass the same `commandId`. Rejects
 * as `EventLog.append` does.
 */
export async function recordFact(
  log: EventLog,
  data: EventData & { readonly teamId: string },
  commandId: string = randomUUIDv7(),
): Promise<void> {
  const envelope = { commandId, notAfter: null, requestDigest: null };
  await log.append(partitionOf(data.teamId, log.partitions), encodeEvent(envelope, data));
}
