import { commandIdOf } from '../language/events/command-id.ts';
import { encodeEvent } from '../language/events/event-codec.ts';
import type { EventData } from '../language/events/event.ts';
import type { EventLog } from './event-log.ts';
import { partitionOf } from './partition.ts';

/** An event prompted by what a process saw in the read model. */
export interface Notice {
  readonly data: EventData & { readonly teamId: string };
  /**
   * The subject, and the progress at which it was seen. They make the command ID: two processes that see the same thing
   * send the same command.
   */
  readonly about: readonly string[];
}

/** Appends the notices. Rejects as `EventLog.append` does, once all have been tried. */
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
