/** Reports the work of a log to an observer. The current state of the log is polled instead: `EventLog.status`. */
import { AppendError, AppendUnknown, NotAppended, type AppendPosition, type LogRecord } from './event-log.ts';

/** Why the log did not accept an event. */
export const refusalReasons = [
  'stopping',
  'halted',
  'catching_up',
  'kafka_away',
  'postgres_away',
  'queue_events',
  'queue_bytes',
  'projection_lag',
  'clock',
  'lost',
  'quarantined',
  'language',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** Why an accepted event has no outcome: it has no effect, its outcome is unknown, or the projection threw. */
export const appendFailures = ['not_appended', 'outcome_unknown', 'bug'] as const;
export type AppendFailure = (typeof appendFailures)[number];

/** The callbacks run in the middle of the work, so they must be quick and must not throw. */
export interface LogObserver {
  /** The brokers or Postgres acknowledged this many events together. */
  batchAppended(events: number): void;
  /** This process projected this many events together. */
  batchProjected(events: number): void;
  /** These records were projected; `began`: when their batch began, in milliseconds since 1970. Absent: not needed. */
  recordsProjected?(records: readonly Pick<LogRecord, 'partition' | 'bytes'>[], began: number): void;
  /** An event was acknowledged this many milliseconds after its append. */
  appended(ms: number): void;
  /** An event got its outcome this many milliseconds after its append. */
  settled(ms: number): void;
  refused(reason: RefusalReason): void;
  failed(failure: AppendFailure): void;
  /** Statements of a batch exceeded their time limit although Postgres was reachable. */
  projectionTimedOut(): void;
  /** This process took over a partition, from another process or from its own earlier ownership. */
  tookOver(): void;
}

function ignore(): void {
  // Nobody watches.
}

/** An observer that ignores everything. */
export const noLogObserver: LogObserver = {
  batchAppended: ignore,
  batchProjected: ignore,
  appended: ignore,
  settled: ignore,
  refused: ignore,
  failed: ignore,
  projectionTimedOut: ignore,
  tookOver: ignore,
};

/** Reports a refused event to the observer, and returns its error. */
export function reportRefusal(
  observer: LogObserver,
  reason: RefusalReason,
  message: string,
  place: AppendPosition,
): NotAppended {
  observer.refused(reason);
  return new NotAppended(message).at(place);
}

/** Reports a failed append to the observer, and returns its error with the place set. */
export function reportFailure(observer: LogObserver, error: unknown, place: AppendPosition): unknown {
  observer.failed(failureOf(error));
  return error instanceof AppendError ? error.at(place) : error;
}

function failureOf(error: unknown): AppendFailure {
  if (error instanceof NotAppended) return 'not_appended';
  return error instanceof AppendUnknown ? 'outcome_unknown' : 'bug';
}
