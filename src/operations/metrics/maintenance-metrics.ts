/** Metrics of maintenance, updated after each step. Only the process that does the maintenance counts any. */
import { Counter, Gauge, type Registry } from 'prom-client';
import type { MaintenanceObserver } from '../maintenance/round.ts';

export class MaintenanceMetrics implements MaintenanceObserver {
  readonly #done: Counter<'kind'>;
  readonly #failed: Counter<'kind'>;
  /** For each kind that has more to do: since when, in milliseconds of the monotonic clock. */
  readonly #behindSince = new Map<string, number>();
  /** When the last step of each kind ended. */
  readonly #steppedAt = new Map<string, number>();

  constructor(registry: Registry) {
    const registers = [registry];
    this.#done = new Counter({
      name: 'tablog_maintenance_done_total',
      help: 'Things that maintenance removed, moved or recorded, by kind.',
      labelNames: ['kind'],
      registers,
    });
    this.#failed = new Counter({
      name: 'tablog_maintenance_failures_total',
      help: 'Steps of maintenance that failed, by kind.',
      labelNames: ['kind'],
      registers,
    });
    const behind: Gauge<'kind'> = new Gauge({
      name: 'tablog_maintenance_behind_seconds',
      help: 'For how long a kind of maintenance has had more to do; 0 if it has finished.',
      labelNames: ['kind'],
      registers,
      collect: () => {
        const now = performance.now();
        for (const kind of this.#steppedAt.keys())
          behind.set({ kind }, (now - (this.#behindSince.get(kind) ?? now)) / 1000);
      },
    });
  }

  stepped(kind: string, done: number): void {
    this.#done.inc({ kind }, done);
    this.#failed.inc({ kind }, 0);
    this.#note(kind, done > 0);
  }

  failed(kind: string): void {
    this.#failed.inc({ kind });
    this.#note(kind, true);
  }

  yielded(): void {
    this.#behindSince.clear();
  }

  #note(kind: string, isBehind: boolean): void {
    const now = performance.now();
    this.#steppedAt.set(kind, now);
    if (!isBehind) this.#behindSince.delete(kind);
    else if (!this.#behindSince.has(kind)) this.#behindSince.set(kind, now);
  }
}
