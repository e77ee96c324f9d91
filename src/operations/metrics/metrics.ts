/** The Prometheus metrics of this process. docs/reference/metrics.md describes each of them. */
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { LogObserver } from '../../log/log-observer.ts';
import type { RequestObserver } from '../../api/http/server/request-observer.ts';
import type { MaintenanceObserver } from '../maintenance/round.ts';
import { LogMetrics } from './log-metrics.ts';
import { MaintenanceMetrics } from './maintenance-metrics.ts';
import { RequestMetrics } from './request-metrics.ts';
import type { Shares } from '../../api/http/limits/shares.ts';
import { addDiskMetrics, type Disks } from './disk-metrics.ts';
import { addFillMetrics, type AskedFill } from './fill-metrics.ts';
import { addShareMetrics } from './share-metrics.ts';
import { addQuotaMetrics, type QuotaUse } from './quota-metrics.ts';
import { addQueryMetrics, type AskedEngine } from './query-metrics.ts';
import { addStatusMetrics, type Asked } from './status-metrics.ts';

/** How often the event loop's delay is sampled, in milliseconds: each sample wakes an idle process. */
const loopDelayPrecision = 20;

export class Metrics {
  readonly #registry = new Registry();
  readonly requests: RequestObserver = new RequestMetrics(this.#registry);
  readonly log: LogObserver = new LogMetrics(this.#registry);
  readonly maintenance: MaintenanceObserver = new MaintenanceMetrics(this.#registry);

  /** Adds metrics that query the service at each scrape. */
  ask(asked: Asked): void {
    addStatusMetrics(this.#registry, asked);
  }

  /** Adds what is in use of the things that teams share. */
  watchShares(shares: Shares): void {
    addShareMetrics(this.#registry, shares);
  }

  /** Adds what is free on the disks of this process. */
  watchDisks(disks: Disks): void {
    addDiskMetrics(this.#registry, disks);
  }

  /** Adds what the query engine of this process does. */
  watchQueries(engine: AskedEngine): void {
    addQueryMetrics(this.#registry, engine);
  }

  /** Adds how far the fill of the read model is, if one is under way. */
  watchFill(fill: AskedFill): void {
    addFillMetrics(this.#registry, fill);
  }

  /** Adds what teams use of their quotas. */
  askQuotas(ask: () => Promise<readonly QuotaUse[]>): void {
    addQuotaMetrics(this.#registry, ask);
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
