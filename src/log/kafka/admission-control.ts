/**
 * Admission control of the log in Kafka: refuses events before they are sent, so that it is certain that they have no
 * effect. Operators are shown the reasons.
 */
import { type EncodedEvent } from '../../language/events/event.ts';
import { teamOf } from '../../language/events/event-names.ts';
import { describeHalt } from '../describe-halt.ts';
import { NotAppended, type HaltCause, type LogStatus } from '../event-log.ts';
import { isTopicMissing } from './kafka-away.ts';
import type { LogEnds } from './log-ends.ts';
import type { LogClock } from '../log-clock.ts';
import type { LogObserver, RefusalReason } from '../log-observer.ts';
import { allPartitions } from '../partition.ts';
import { AppendQueue, type QueuedEvent } from '../batch/append-queue.ts';
import { heldMessage } from '../quarantine/held-teams.ts';
import type { Contradictions } from './contradictions.ts';
import type { PartitionOwner } from './partition-owner.ts';
import type { ProgressWatch } from './progress-watch.ts';

export interface AdmissionLimits {
  /**
   * How many events may wait for their outcome, and how many bytes may wait to be sent, over all partitions. Past
   * either limit, appends are refused.
   */
  readonly queueEventsMax: number;
  readonly queueBytesMax: number;
  /** The newest language of events that all live processes read; absent: this process is the only one. */
  readonly languageMax?: () => number;
  /**
   * How many events the projection of a partition may be behind. Past this limit, appends to the partition are refused.
   */
  readonly lagEventsMax: number;
}

interface AdmissionControlOptions {
  readonly partitions: number;
  readonly limits: AdmissionLimits;
  readonly observer: LogObserver;
  /** Aborts when the service stops. */
  readonly closing: AbortSignal;
  readonly clock: Pick<LogClock, 'problem'>;
  readonly ends: Pick<LogEnds, 'away' | 'leftOf' | 'lagOf' | 'unattended'>;
  readonly watch: Pick<ProgressWatch, 'of' | 'away' | 'clockProblem'>;
  readonly contradictions: Pick<Contradictions, 'of' | 'hasLost'>;
  readonly owner: Pick<PartitionOwner, 'partitions'>;
}

export class AdmissionControl {
  readonly #options: AdmissionControlOptions;
  readonly #partitions: readonly number[];
  readonly #queue: AppendQueue;
  readonly #caughtUp = Promise.withResolvers<void>();
  #isCaughtUp = false;
  #lost: string | null = null;
  readonly #failure = Promise.withResolvers<string>();

  constructor(options: AdmissionControlOptions) {
    this.#options = options;
    this.#partitions = allPartitions(options.partitions);
    const { limits, observer } = options;
    this.#queue = new AppendQueue({
      eventsMax: limits.queueEventsMax,
      bytesMax: limits.queueBytesMax,
      languageMax: limits.languageMax,
      observer,
    });
    // Avoids an unhandled rejection when nobody waits for it.
    this.#caughtUp.promise.catch(() => undefined);
  }

  /**
   * Queues an event. Throws NotAppended if it cannot be accepted now. It is not sent then, so it certainly has no
   * effect.
   */
  admit(partition: number, event: EncodedEvent): QueuedEvent {
    const { limits, closing, ends, watch } = this.#options;
    const no = (reason: RefusalReason, message: string): never => {
      throw this.#queue.refuse(reason, message, partition);
    };
    if (closing.aborted) no('stopping', 'the service is stopping');
    const halt = this.#haltOf(partition);
    if (halt !== null) no('halted', halt);
    if (!this.#isCaughtUp) no('catching_up', 'the read model is catching up with the log');
    if (this.#lost !== null) no('lost', this.#lost);
    const clockProblem = this.#clockProblem();
    if (clockProblem !== null) no('clock', clockProblem);
    if (ends.away) no('kafka_away', 'Kafka cannot be reached');
    if (watch.away) no('postgres_away', 'Postgres cannot be reached');
    if (ends.lagOf(partition) > limits.lagEventsMax) {
      no('projection_lag', `the projection of partition ${partition} is too far behind its log`);
    }
    if (watch.of(partition).held.since.has(teamOf(event.event.data))) no('quarantined', heldMessage(event.event.data));
    return this.#queue.enter(partition, event);
  }

  /** See `EventLog.problems`. */
  problems(): readonly string[] {
    const { ends } = this.#options;
    const problems = this.#partitions.filter((partition) => this.#haltOf(partition) !== null).map(describeHalt);
    if (!this.#isCaughtUp) {
      const left = this.#partitions.reduce((sum, partition) => sum + ends.leftOf(partition), 0);
      problems.push(`The read model is catching up with the log: ${left} events to go.`);
    }
    if (this.#lost !== null) problems.push(this.#lost);
    const clockProblem = this.#clockProblem();
    if (clockProblem !== null) problems.push(clockProblem);
    if (ends.away) problems.push(kafkaProblem(ends.away));
    const unattended = ends.unattended().filter((partition) => this.#haltOf(partition) === null);
    if (unattended.length > 0)
      problems.push(`Nobody projects partition ${unattended.join(', ')}: is a projector running?`);
    return problems;
  }

  status(): LogStatus {
    const { ends, owner } = this.#options;
    const owned = new Set(owner.partitions);
    return {
      queuedEvents: this.#queue.events,
      queuedBytes: this.#queue.bytes,
      oldestAppendMs: this.#partitions.map((partition) => this.#queue.waitsIn(partition).oldestMs),
      halts: this.#partitions.map((partition) => this.#haltCauseOf(partition)),
      quarantinedTeams: this.#partitions.reduce(
        (sum, partition) => sum + this.#options.watch.of(partition).held.since.size,
        0,
      ),
      kafka: {
        isReachable: ends.away === null,
        lag: this.#partitions.map((partition) => ends.lagOf(partition)),
        owned: this.#partitions.map((partition) => owned.has(partition)),
      },
    };
  }

  /** Whether a reason that operators are shown explains why a partition stands still. */
  explains(partition: number): boolean {
    const { ends, watch } = this.#options;
    return (
      !this.#isCaughtUp ||
      this.#lost !== null ||
      this.#clockProblem() !== null ||
      ends.away !== null ||
      watch.away !== null ||
      this.#haltOf(partition) !== null ||
      watch.of(partition).contradicted
    );
  }

  get isCaughtUp(): boolean {
    return this.#isCaughtUp;
  }

  /** Resolves when all partitions have caught up. Rejects if the service stops before. */
  async caughtUp(): Promise<void> {
    await this.#caughtUp.promise;
  }

  /** Call this whenever a partition may have caught up. */
  checkCaughtUp(): void {
    const { ends, watch } = this.#options;
    if (this.#isCaughtUp) return;
    // If a halted partition ever reached the end of its log, it can be read as it is.
    this.#isCaughtUp = this.#partitions.every((partition) => {
      return ends.leftOf(partition) === 0 || (this.#haltOf(partition) !== null && watch.of(partition).caughtUp);
    });
    if (this.#isCaughtUp) this.#caughtUp.resolve();
  }

  /** Why this process must restart; null if it need not. */
  get lost(): string | null {
    return this.#lost;
  }

  /** The log is complete, so nothing needs to be resumed. But this process's memory of the read model is wrong. */
  lose(reason: string): void {
    this.#lost ??= reason;
  }

  /** The process must end because its memory is wrong. */
  fail(): void {
    if (this.#lost !== null) this.#failure.resolve(this.#lost);
  }

  onFailure(listener: (reason: string) => void): void {
    void this.#failure.promise.then(listener);
  }

  close(): void {
    this.#caughtUp.reject(new NotAppended('the service is stopping'));
  }

  #clockProblem(): string | null {
    const { clock, watch } = this.#options;
    return clock.problem ?? watch.clockProblem;
  }

  #haltCauseOf(partition: number): HaltCause | null {
    const { contradictions, watch } = this.#options;
    if (contradictions.hasLost(partition) || watch.of(partition).contradicted) return 'records_lost';
    return this.#haltOf(partition) === null ? null : 'not_projectable';
  }

  /** Why events for a partition are refused; null if they are not. */
  #haltOf(partition: number): string | null {
    const { contradictions, watch } = this.#options;
    return contradictions.of(partition) ?? watch.of(partition).halted;
  }
}

function kafkaProblem(away: Error): string {
  return isTopicMissing(away) ? 'Kafka does not know the topic of the log.' : 'Kafka cannot be reached.';
}
