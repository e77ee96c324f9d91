import { commandIdOf } from '../language/events/command-id.ts';
import { encodeEvent } from '../language/events/event-codec.ts';
import type { EventData } from '../language/events/event.ts';
import type { EventLog } from './event-log.ts';
import { partitionOf } from './partition.ts';

/** An event that a process appends because of a state that it saw in the read model. */
export interface Notice {
  readonly data: EventData & { readonly teamId: string };
  /**
   * The subject, and the progress at which its state was seen. The command ID is made from them, so two processes that
   * see the same state send the same command.
   */
  readonly about: readonly string[];
}

/** Appends the notices. Tries all of them, then rejects as `EventLog.append` does if one failed. */
export async function appendNotices(log: EventLog, notices: readonly Notice[]): Promise<void> {
  const sent = await Promise.allSettled(
    notices.map(({ data, about }) => {
      const event = encodeEvent(
        { commandId: commandIdOf(data.type, ...about), notAfter: null, requestDigest: null },
        data,
      );
      return log.append(partitionOf(data.teamId, log.partitions), event);
    }),
  );
  const failed = sent.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}
