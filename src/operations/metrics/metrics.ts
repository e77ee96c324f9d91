/** The Prometheus metrics of this process. docs/reference/metrics.md describes each of them. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { LogObserver } from '../../log/log-observer.ts';
import type { RequestObserver } from '../../api/http/server/request-observer.ts';
import type { MaintenanceObserver } from '../maintenance/round.ts';
import { LogMetrics } from './log-metrics.ts';
import { MaintenanceMetrics } from './maintenance-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';

/** How often the event loop's delay is sampled, in milliseconds: each sample wakes an idle process. */
const loopDelayPrecision = 20;

export class Metrics {
  readonly #registry = new Registry();
  readonly requests: RequestObserver = new RequestMetrics(this.#registry);
  readonly log: LogObserver = new LogMetrics(this.#registry);
  readonly maintenance: MaintenanceObserver = new MaintenanceMetrics(this.#registry);

  /** Adds metrics, such as those of a feature. */
  add(addTo: (registry: Registry) => void): void {
    addTo(this.#registry);
  }

  /** Adds Node's process metrics. Call it once per process: they are collected until its end. */
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
