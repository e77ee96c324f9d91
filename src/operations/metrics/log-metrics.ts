/** Metrics of the log and its projections. The log calls these methods when something happens. */
import { Counter, Histogram, type Registry } from 'prom-client';
import {
  appendFailures,
  refusalReasons,
  type AppendFailure,
  type LogObserver,
  type RefusalReason,
} from '../../log/log-observer.ts';
import { latencyBuckets } from './latency-buckets.ts';

const batchBuckets = [1, 2, 5, 10, 25, 50, 100, 250, 500];

export class LogMetrics implements LogObserver {
  readonly #appendDuration: Histogram;
  readonly #outcomeDuration: Histogram;
  readonly #appendBatch: Histogram;
  readonly #projectionBatch: Histogram;
  readonly #refused: Counter<'reason'>;
  readonly #failed: Counter<'reason'>;
  readonly #takeovers: Counter;
  readonly #timeouts: Counter;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#appendDuration = new Histogram({
      name: 'tablog_log_append_duration_seconds',
      help: 'From the append of an event to its acknowledgement by the brokers, or by Postgres.',
      buckets: latencyBuckets,
      registers,
    });
    this.#outcomeDuration = new Histogram({
      name: 'tablog_log_outcome_duration_seconds',
      help: 'From the append of an event to the outcome of its command.',
      buckets: latencyBuckets,
      registers,
    });
    this.#appendBatch = new Histogram({
      name: 'tablog_log_append_batch_events',
      help: 'Events that were acknowledged together.',
      buckets: batchBuckets,
      registers,
    });
    this.#projectionBatch = new Histogram({
      name: 'tablog_projection_batch_events',
      help: 'Events that this process projected together.',
      buckets: batchBuckets,
      registers,
    });
    this.#refused = new Counter({
      name: 'tablog_log_appends_refused_total',
      help: 'Events that were refused before they were appended.',
      labelNames: ['reason'],
      registers,
    });
    this.#failed = new Counter({
      name: 'tablog_log_appends_failed_total',
      help: 'Events that were accepted for appending but have no outcome.',
      labelNames: ['reason'],
      registers,
    });
    this.#takeovers = new Counter({
      name: 'tablog_partition_takeovers_total',
      help: 'How often this process took over a partition.',
      registers,
    });
    this.#timeouts = new Counter({
      name: 'tablog_projection_timeouts_total',
      help: 'Batches whose statements exceeded their time limit although Postgres was reachable.',
      registers,
    });
    // Create each counter at 0: a counter that first appears at 1 shows no increase in Prometheus.
    for (const reason of refusalReasons) this.#refused.inc({ reason }, 0);
    for (const reason of appendFailures) this.#failed.inc({ reason }, 0);
  }

  batchAppended(events: number): void {
    this.#appendBatch.observe(events);
  }

  batchProjected(events: number): void {
    this.#projectionBatch.observe(events);
  }

  appended(ms: number): void {
    this.#appendDuration.observe(ms / 1000);
  }

  settled(ms: number): void {
    this.#outcomeDuration.observe(ms / 1000);
  }

  refused(reason: RefusalReason): void {
    this.#refused.inc({ reason });
  }

  failed(reason: AppendFailure): void {
    this.#failed.inc({ reason });
  }

  projectionTimedOut(): void {
    this.#timeouts.inc();
  }

  tookOver(): void {
    this.#takeovers.inc();
  }
}
