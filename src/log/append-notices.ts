import { commandIdOf } from '../events/command-id.ts';
import { encodeEvent } from '../events/event-codec.ts';
import type { EventData } from '../events/event.ts';
import type { EventLog } from './event-log.ts';
import { partitionOf } from './partition.ts';

/** What somebody who looked at the read model has to say in the log. */
export interface Notice {
  readonly data: EventData & { readonly teamId: string };
  /** What it is about, and the progress at which it was seen: two processes that see the same send one command. */
  readonly about: readonly string[];
}

/** Appends what was noticed. Rejects as `EventLog.append` does, once all have been tried. */
export async function appendNotices(log: EventLog, notices: readonly Notice[]): Promise<void> {
  const sent = await Promise.allSettled(notices.map(({ data, about }) => {
    const event = encodeEvent({ commandId: commandIdOf(data.type, ...about), notAfter: null, requestDigest: null }, data);
    return log.append(partitionOf(data.teamId, log.partitions), event);
  }));
  const failed = sent.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}
