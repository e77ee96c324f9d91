import type { Logger } from 'pino';
import { teamOf } from '../language/events/event-names.ts';
import type { LogObserver } from './log-observer.ts';
import { toEntry } from './batch/entry.ts';
import type { ProjectionListener } from './project-records.ts';

/** Logs failures with records for operators, and counts them. */
export function listenerOf(
  logger: Pick<Logger, 'error' | 'warn'>,
  observer: Pick<LogObserver, 'projectionTimedOut' | 'recordsProjected'>,
): ProjectionListener {
  return {
    projected: observer.recordsProjected?.bind(observer),
    quarantined: ({ partition, offset }, teamId, err) => {
      logger.error(
        { partition, offset: String(offset), teamId, err },
        'a team is in quarantine: one of its events cannot be projected. ' +
          'Its later events are held until `tablog quarantine release`',
      );
    },
    timedOut: (records, err) => {
      observer.projectionTimedOut();
      const [first, last] = [records[0]!, records.at(-1)!];
      const teamId = records.length === 1 ? teamOf(toEntry(first).event.data) : undefined;
      const { partition, offset } = first;
      logger.warn(
        { partition, offset: String(offset), lastOffset: String(last.offset), teamId, err },
        'the statements of a batch take too long',
      );
    },
  };
}
