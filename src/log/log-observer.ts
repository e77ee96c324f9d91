/** What a log tells whoever watches it work. What it is at a moment is not told but asked: `EventLog.status`. */
import { AppendError, AppendUnknown, NotAppended, type LogPlace } from './event-log.ts';

/** Why an event was not even taken in. */
export const refusalReasons = [
  'stopping', 'halted', 'catching_up', 'kafka_away', 'postgres_away', 'queue_events', 'queue_bytes', 'projection_lag',
] as const;
export type RefusalReason = (typeof refusalReasons)[number];

/** Why an event that was taken in has no outcome: it is without effect, nobody could tell, or the projection threw. */
export const appendFailures = ['not_appended', 'outcome_unknown', 'bug'] as const;
export type AppendFailure = (typeof appendFailures)[number];

/** Hears of what happens. It is called in the midst of it: it is quick, and throws nothing. */
export interface LogObserver {
  /** So many events were acknowledged together, by the brokers or by Postgres. */
  batchAppended(events: number): void;
  /** So many events were projected together by this process. */
  batchProjected(events: number): void;
  /** An event was acknowledged, so many milliseconds after it was given to the log. */
  appended(ms: number): void;
  /** An event has its outcome, so many milliseconds after it was given to the log. */
  settled(ms: number): void;
  refused(reason: RefusalReason): void;
  failed(failure: AppendFailure): void;
  /** This process has taken a partition over, from another one or from its own past. */
  tookOver(): void;
}

function ignore(): void {
  // Nobody watches.
}

/** For a log that nobody watches. */
export const noLogObserver: LogObserver = {
  batchAppended: ignore, batchProjected: ignore, appended: ignore, settled: ignore, refused: ignore, failed: ignore,
  tookOver: ignore,
};

/** Tells the observer why an event is not taken in, and gives the error that says so. */
export function refuse(observer: LogObserver, reason: RefusalReason, message: string, place: LogPlace): NotAppended {
  observer.refused(reason);
  return new NotAppended(message).at(place);
}

/** Tells the observer of an append that failed, and gives its error, which knows its place by then. */
export function fail(observer: LogObserver, error: unknown, place: LogPlace): unknown {
  observer.failed(failureOf(error));
  return error instanceof AppendError ? error.at(place) : error;
}

function failureOf(error: unknown): AppendFailure {
  if (error instanceof NotAppended) return 'not_appended';
  return error instanceof AppendUnknown ? 'outcome_unknown' : 'bug';
}
