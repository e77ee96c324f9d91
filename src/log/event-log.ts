/**
 * The log: an append-only sequence of records for each partition, and one order for all that a team does, because a
 * team's events all go to one partition (ARCHITECTURE.md, "Invariants").
 */
import type { EncodedEvent, Event } from '../events/event.ts';
import type { Outcome } from '../events/outcome.ts';

/** Something the log holds. `time` is given by the log, in milliseconds since 1970, and never falls within a partition. */
export interface LogRecord {
  readonly partition: number;
  readonly offset: bigint;
  readonly time: number;
  readonly bytes: Uint8Array;
  /** What the bytes say, where it is known because this process wrote them. */
  readonly event?: Event;
}

export type CommandId = string;

export interface PartitionBounds {
  /** The first offset held, and the next one to be given. */
  readonly start: bigint;
  readonly end: bigint;
}

/** What is there to be read. */
export interface LogReader {
  readonly partitions: number;
  /** The records of `from` (inclusive) to `to` (exclusive), in batches. Rejects with WrongLog when one is missing. */
  read(partition: number, from: bigint, to: bigint): AsyncIterable<readonly LogRecord[]>;
  bounds(partition: number): Promise<PartitionBounds>;
  close(): Promise<void>;
}

/** How a log is at this moment, for those who operate it. */
export interface LogStatus {
  /** What waits: events for their outcome, and bytes of events to be acknowledged. */
  readonly queuedEvents: number;
  readonly queuedBytes: number;
  /** Which partitions take no events any more, because they cannot be projected. */
  readonly halted: readonly boolean[];
  /** Null where events are projected as they are appended, by whoever appends them. */
  readonly kafka: KafkaStatus | null;
}

export interface KafkaStatus {
  /** Whether the brokers answered last. */
  readonly isReachable: boolean;
  /** How many events the projection of each partition is behind, whichever process does it. */
  readonly lag: readonly number[];
  /** Which partitions this process projects. */
  readonly owned: readonly boolean[];
}

export interface EventLog extends LogReader {
  /** The log's time now, as near as this process knows it (milliseconds since 1970). */
  now(): number;
  /** Resolves when all that the log held at the start has been projected, by whichever process. */
  caughtUp(): Promise<void>;
  /** Appends an event, and gives what became of it. Rejects with NotAppended (certain), AppendUnknown or ProjectionBug. */
  append(partition: number, event: EncodedEvent): Promise<Outcome>;
  /** Whether all that the log held at the start has been projected: before that the read model answers nothing. */
  readonly isCaughtUp: boolean;
  /** What is wrong with it now, a sentence each; none when all is well. */
  problems(): readonly string[];
  status(): LogStatus;
}

/** Where in the log something happened, as far as it is known. */
export interface LogPlace {
  readonly partition?: number;
  readonly offset?: bigint | undefined;
}

/** An event has no outcome. */
export abstract class AppendError extends Error {
  #place: LogPlace = {};

  get place(): LogPlace {
    return this.#place;
  }

  /** Says where it happened. */
  at(place: LogPlace): this {
    this.#place = place;
    return this;
  }
}

/** The event is certainly not in the log, or certainly without effect. The client may try again. */
export class NotAppended extends AppendError {
  override readonly name = 'NotAppended';
}

/** The event reached the log after its `notAfter`: it stands there and has no effect. */
export function tooLate(): NotAppended {
  return new NotAppended('the request waited too long before it reached the log');
}

/** The event may be in the log: nobody could tell within the time allowed. */
export class AppendUnknown extends AppendError {
  override readonly name = 'AppendUnknown';
}

/** The projection threw on this event: a bug. It is not in the log (Postgres), or its partition has halted (Kafka). */
export class ProjectionBug extends AppendError {
  override readonly name = 'ProjectionBug';
}
