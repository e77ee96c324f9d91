import { randomUUIDv7 } from 'node:crypto';
import { encodeEvent } from '../language/events/event-codec.ts';
import type { EventData } from '../language/events/event.ts';
import type { EventLog } from './event-log.ts';
import { partitionOf } from './partition.ts';

/** An event that cannot be refused. */
interface Fact {
  readonly data: EventData & { readonly teamId: string };
  /**
   * A retry passes the same ID. So do processes that see the same fact in the read model (`commandIdOf`), and the event
   * takes effect only once.
   */
  readonly commandId: string;
}

/** Appends an event that cannot be refused to the partition of its team. Rejects as `EventLog.append` does. */
export async function recordFact(
  log: EventLog,
  data: Fact['data'],
  commandId: Fact['commandId'] = randomUUIDv7(),
): Promise<void> {
  const envelope = { commandId, notAfter: null, requestDigest: null };
  await log.append(partitionOf(data.teamId, log.partitions), encodeEvent(envelope, data));
}

/** Appends several facts. Tries all of them, then rejects as `EventLog.append` does if one failed. */
export async function recordFacts(log: EventLog, facts: readonly Fact[]): Promise<void> {
  const sent = await Promise.allSettled(facts.map(({ data, commandId }) => recordFact(log, data, commandId)));
  const failed = sent.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}
