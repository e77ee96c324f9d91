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
  /** The decoded event, known where this process wrote it. */
  readonly event?: Event;
}

export type CommandId = string;

export interface PartitionBounds {
  /** The first offset held, and the next one to be assigned. */
  readonly start: bigint;
  readonly end: bigint;
}

/** The read side of a log. */
export interface LogReader {
  readonly partitions: number;
  /** The records from `from` (inclusive) to `to` (exclusive), in batches. Rejects with WrongLog when one is missing. */
  read(partition: number, from: bigint, to: bigint): AsyncIterable<readonly LogRecord[]>;
  bounds(partition: number): Promise<PartitionBounds>;
  close(): Promise<void>;
}

/** The records of a log, without their outcomes: for the tools of operators. */
export interface RecordLog extends CopyTarget {
  /** Writes a record to the end of a partition. Whoever projects the partition decides it. */
  appendRecord(partition: number, bytes: Uint8Array): Promise<void>;
  /**
   * Has a second broker confirm who leads a partition, where there are brokers: a leader that was deposed, and does not
   * know it yet, tells where the partition ended then. Rejects when no broker can be reached, or they differ.
   */
  confirmLeader(partition: number): Promise<void>;
}

/** A log that takes copies of another one's records. */
export interface CopyTarget extends LogReader {
  /**
   * Appends copies of consecutive records of a partition, each at its offset and with its time. Resolves once all are
   * stored for good. Rejects with WrongLog if the partition does not end at the offset of the first; after any other
   * error a part of them may be there.
   */
  appendCopies(partition: number, records: readonly LogRecord[]): Promise<void>;
}

/**
 * Why a partition takes no events: its log lost records, or it cannot be projected, because of an event or because it
 * is another log.
 */
export const haltCauses = ['records_lost', 'not_projectable'] as const;
export type HaltCause = (typeof haltCauses)[number];

/** The current state of a log, for operators. */
export interface LogStatus {
  /** The backlog: events that await their outcome, and bytes of events to be acknowledged. */
  readonly queuedEvents: number;
  readonly queuedBytes: number;
  /** How long the oldest event of each partition has awaited its outcome, in milliseconds; 0 where none does. */
  readonly oldestAppendMs: readonly number[];
  /** Why each partition has halted; null where it has not. */
  readonly halts: readonly (HaltCause | null)[];
  /** How many teams are in quarantine, as far as this process knows. */
  readonly quarantinedTeams: number;
  /** Null where the process that appends events also projects them. */
  readonly kafka: KafkaStatus | null;
}

export interface KafkaStatus {
  /** Whether the brokers answered the last request. */
  readonly isReachable: boolean;
  /** The projection lag of each partition in events, whichever process projects it. */
  readonly lag: readonly number[];
  /** Which partitions this process projects. */
  readonly owned: readonly boolean[];
}

/**
 * A partition in which this process waits for something, while nothing that operators are shown explains it. Durations
 * in milliseconds.
 */
export interface Standstill {
  readonly partition: number;
  /** What waits, for people. */
  readonly what: string;
  /** For how long it has waited, and nothing of the partition was decided. */
  readonly undecidedMs: number;
  /**
   * For how long nothing has failed either. So this process hangs where it should have given up, and only a restart
   * helps.
   */
  readonly silentMs: number;
}

export interface EventLog extends LogReader {
  /** The current log time, as well as this process knows it (milliseconds since 1970). */
  now(): number;
  /**
   * The least time that the next record of a partition will have, as well as this process knows it: the log time, or
   * the time of the last record if a clock was ahead when that was written.
   */
  nextTime(partition: number): number;
  /** Resolves when everything that the log held at startup has been projected, by any process. */
  caughtUp(): Promise<void>;
  /** Appends an event. Resolves to its outcome. Rejects with NotAppended (certain), AppendUnknown or ProjectionBug. */
  append(partition: number, event: EncodedEvent): Promise<Outcome>;
  /** Whether everything that the log held at startup has been projected. Until then the read model serves no reads. */
  readonly isCaughtUp: boolean;
  /**
   * Whether processes that use other read models may append, as during an upgrade. What they have acknowledged may be
   * missing in the read model of this one until `reachHead` (docs/decisions/0044).
   */
  readonly mayBeBehind: boolean;
  /**
   * Resolves when the read model has everything that was in the log at the call: in one partition, or in all (null).
   * Partitions that are halted are left out. Rejects with NotAppended if that takes too long, and when Postgres is
   * away.
   */
  reachHead(partition: number | null): Promise<void>;
  /**
   * Calls the listener once, with the reason, when this process has to start anew: what it remembers of the log is
   * wrong.
   */
  onFailure(listener: (reason: string) => void): void;
  /**
   * Since when a team is in quarantine, in milliseconds of log time; null: it is not. A process knows within about a
   * second.
   */
  quarantinedSince(teamId: string): number | null;
  /**
   * Current problems, a sentence each; empty when all is well. Anybody may read them, so they name the partitions that
   * have halted, and not why: the reasons are in the log of the process and in the progress of the partition.
   */
  problems(): readonly string[];
  status(): LogStatus;
  /**
   * Where something waits. Empty while there is a reason that `problems` names; a partition is left out while there is
   * one for it.
   */
  standstills(): readonly Standstill[];
}

/** A position in the log, as far as it is known. */
export interface LogPlace {
  readonly partition?: number;
  readonly offset?: bigint | undefined;
}

/** An append that gave no outcome. */
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

/** The event is certainly not in the log, or certainly has no effect. The client may retry. */
export class NotAppended extends AppendError {
  override readonly name = 'NotAppended';
}

/** A live process cannot read the event, so it was not appended. Once that process is upgraded, a retry succeeds. */
export class LanguageTooNew extends NotAppended {
  /** Of the interface's errors. */
  readonly type = 'service_unavailable';

  constructor() {
    super(
      'The service is being upgraded: until all of its processes are of the new version, this request cannot be taken. This try changed nothing.',
    );
  }
}

/** The event reached the log after its deadline, `notAfter`: it is stored and has no effect. */
export function tooLate(): NotAppended {
  return new NotAppended('the request waited too long before it reached the log');
}

/** The event may be in the log: the time allowed did not suffice to find out. */
export class AppendUnknown extends AppendError {
  override readonly name = 'AppendUnknown';
}

/** The projection threw on this event: a bug. It is not in the log (Postgres), or its partition has halted (Kafka). */
export class ProjectionBug extends AppendError {
  override readonly name = 'ProjectionBug';
}
