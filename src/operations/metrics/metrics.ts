/** The Prometheus metrics of this process. docs/reference/metrics.md describes each of them. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { LogObserver } from '../../log/log-observer.ts';
import type { RequestObserver } from '../../api/http/server/request-observer.ts';
import type { MaintenanceObserver } from '../maintenance/round.ts';
import { LogMetrics } from './log-metrics.ts';
import { MaintenanceMetrics } from './maintenance-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';

/** Interval between samples of the event loop's delay, in milliseconds. Each sample wakes an idle process. */
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

  /** Adds Node's process metrics. Call it once per process, because their collection never stops. */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: loopDelayPrecision });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The present values of all metrics, in the Prometheus text format. */
  scrape(): Promise<string> {
    return this.#registry.metrics();
  }
}
