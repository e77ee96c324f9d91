/**
 * The log: an append-only sequence of records per partition. A team's events all go to one partition, which gives them
 * one order (ARCHITECTURE.md, "Invariants").
 */
import type { EncodedEvent, Event } from '../language/events/event.ts';
import type { Outcome } from '../language/events/outcome.ts';

/**
 * A record of the log. `time` is assigned by the log, in milliseconds since 1970, and never decreases within a
 * partition.
 */
export interface LogRecord {
  readonly partition: number;
  readonly offset: bigint;
  readonly time: number;
  readonly bytes: Uint8Array;
  /** The decoded event, if this process wrote it. */
  readonly event?: Event;
}

export type CommandId = string;

export interface PartitionBounds {
  /** The offset of the first record, and the offset that the next record will get. */
  readonly start: bigint;
  readonly end: bigint;
}

/** The read side of a log. */
export interface LogReader {
  readonly partitions: number;
  /** The records from `from` (inclusive) to `to` (exclusive), in batches. Rejects with WrongLog if one is missing. */
  read(partition: number, from: bigint, to: bigint): AsyncIterable<readonly LogRecord[]>;
  bounds(partition: number): Promise<PartitionBounds>;
  close(): Promise<void>;
}

/** The records of a log, without their outcomes: for the tools of operators. */
export interface RecordLog extends CopyTarget {
  /** Appends a record to a partition. The process that projects the partition decides it. */
  appendRecord(partition: number, bytes: Uint8Array): Promise<void>;
  /**
   * If there are brokers, asks a second broker to confirm the leader of a partition. A deposed leader that does not
   * know it yet would return an old end of the partition. Rejects if no broker can be reached, or if they disagree.
   */
  confirmLeader(partition: number): Promise<void>;
}

/** A log that takes copies of another one's records. */
export interface CopyTarget extends LogReader {
  /**
   * Appends copies of consecutive records of a partition, each at its offset and with its time. Resolves once all are
   * stored for good. Rejects with WrongLog if the partition does not end at the offset of the first record. After any
   * other error some of the records may be stored.
   */
  appendCopies(partition: number, records: readonly LogRecord[]): Promise<void>;
}

/**
 * Why a partition takes no events. `records_lost`: its log lost records. `not_projectable`: an event cannot be
 * projected, or the log is another one.
 */
export const haltCauses = ['records_lost', 'not_projectable'] as const;
export type HaltCause = (typeof haltCauses)[number];

/** The current state of a log, for operators. */
export interface LogStatus {
  /** The backlog: events that await their outcome, and bytes that await their acknowledgement. */
  readonly queuedEvents: number;
  readonly queuedBytes: number;
  /** How long the oldest event of each partition has awaited its outcome, in milliseconds; 0 if none does. */
  readonly oldestAppendMs: readonly number[];
  /** Why each partition has halted; null if it has not. */
  readonly halts: readonly (HaltCause | null)[];
  /** How many teams are in quarantine, as far as this process knows. */
  readonly quarantinedTeams: number;
  /** Null if the process that appends events also projects them. */
  readonly kafka: KafkaStatus | null;
}

interface KafkaStatus {
  /** Whether the brokers answered the last request. */
  readonly isReachable: boolean;
  /** The projection lag of each partition, in events, whichever process projects it. */
  readonly lag: readonly number[];
  /** Which partitions this process projects. */
  readonly owned: readonly boolean[];
}

/**
 * A partition in which this process waits, although none of the problems that operators see explains it. Durations in
 * milliseconds.
 */
export interface Standstill {
  readonly partition: number;
  /** A description of the waiting work, as text. */
  readonly what: string;
  /** How long the work has waited while no event of the partition was decided. */
  readonly undecidedMs: number;
  /**
   * How long no attempt has failed, either. A high value means that this process hangs where it should have given up,
   * and only a restart helps.
   */
  readonly silentMs: number;
}

export interface EventLog extends LogReader {
  /** The current log time (milliseconds since 1970), as far as this process knows it. */
  now(): number;
  /**
   * The lowest time that the next record of a partition can have, as far as this process knows it: the log time, or the
   * time of the last record if a clock was ahead when that record was written.
   */
  nextTime(partition: number): number;
  /** Resolves when everything that the log held at startup has been projected, by any process. */
  caughtUp(): Promise<void>;
  /** Appends an event. Resolves to its outcome. Rejects with NotAppended (certain), AppendUnknown or ProjectionBug. */
  append(partition: number, event: EncodedEvent): Promise<Outcome>;
  /** Whether everything that the log held at startup has been projected. Until then the read model serves no reads. */
  readonly isCaughtUp: boolean;
  /**
   * Whether processes with other read models may append, as during an upgrade. The read model of this process may then
   * lack writes that they have acknowledged, until `reachHead` (docs/decisions/0044).
   */
  readonly mayBeBehind: boolean;
  /**
   * Resolves when the read model has everything that was in the log at the call, in one partition or in all (null).
   * Leaves out halted partitions. Rejects with NotAppended if that takes too long, and if Postgres is away.
   */
  reachHead(partition: number | null): Promise<void>;
  /** Calls the listener once, with the reason, if this process must restart because its memory of the log is wrong. */
  onFailure(listener: (reason: string) => void): void;
  /**
   * Since when a team is in quarantine, in milliseconds of log time; null: it is not in quarantine. A process knows
   * within about a second.
   */
  quarantinedSince(teamId: string): number | null;
  /**
   * Current problems, a sentence each; empty if there is none. Anybody may read them. So they name halted partitions
   * but not the reasons, which are in the log of the process and in the progress of the partition.
   */
  problems(): readonly string[];
  status(): LogStatus;
  /**
   * The partitions in which work waits. Empty while `problems` names a reason for all partitions. If there is a reason
   * for one partition, that partition is left out.
   */
  standstills(): readonly Standstill[];
}

/** A place in the log, as far as it is known. */
export interface AppendPosition {
  readonly partition?: number;
  readonly offset?: bigint | undefined;
}

/** An append that has no outcome. */
export abstract class AppendError extends Error {
  #place: AppendPosition = {};

  get place(): AppendPosition {
    return this.#place;
  }

  /** Adds where it happened. */
  at(place: AppendPosition): this {
    this.#place = place;
    return this;
  }
}

/** The event is certainly not in the log, or certainly has no effect. The client may retry. */
export class NotAppended extends AppendError {
  override readonly name = 'NotAppended';
}

/** A live process cannot read the event, so it was not appended. Once that process is upgraded, a retry succeeds. */
export class LanguageTooNew extends NotAppended {
  /** An error type of the interface. */
  readonly type = 'service_unavailable';

  constructor() {
    super(
      'The service is being upgraded. It takes this request once all of its processes run the new version. This try changed nothing.',
    );
  }
}

/** The event reached the log after its deadline, `notAfter`: it is stored and has no effect. */
export function tooLate(): NotAppended {
  return new NotAppended('the request waited too long before it reached the log');
}

/** The event may be in the log: the allowed time did not suffice to find out. */
export class AppendUnknown extends AppendError {
  override readonly name = 'AppendUnknown';
}

/** The projection threw on this event: a bug. It is not in the log (Postgres), or its partition has halted (Kafka). */
export class ProjectionBug extends AppendError {
  override readonly name = 'ProjectionBug';
}
