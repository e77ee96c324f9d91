/** What this process measures of itself, for Prometheus. docs/metrics.md says what each metric means. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { LogObserver } from '../log/log-observer.ts';
import type { RequestObserver } from '../http/server/request-observer.ts';
import { LogMetrics } from './log-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';
import { addStatusMetrics, type Asked } from './status-metrics.ts';

/** How often the event loop's delay is sampled, in milliseconds: each sample wakes an idle process. */
const loopDelayPrecision = 20;

export class Metrics {
  readonly #registry = new Registry();
  readonly requests: RequestObserver = new RequestMetrics(this.#registry);
  readonly log: LogObserver = new LogMetrics(this.#registry);

  /** Adds what is asked of the service. */
  ask(asked: Asked): void {
    addStatusMetrics(this.#registry, asked);
  }

  /** Adds what Node knows of the process. To be called once a process: it is observed until its end. */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: loopDelayPrecision });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** All metrics as they are now, as text. */
  scrape(): Promise<string> {
    return this.#registry.metrics();
  }
}
