/** Metrics of the fill of a read model: by a new version when it starts, or by `tablog replay`. */
import { Gauge, type Registry } from 'prom-client';
import type { FillProgress } from '../replay/fill-progress.ts';
import { inTime } from './in-time.ts';

type AskedFill = Pick<FillProgress, 'look' | 'eventsLeft' | 'secondsLeft'>;

/** While Postgres is away there are no values. */
export function addFillMetrics(registry: Registry, fill: AskedFill): void {
  let looking: Promise<true | null> | null = null;
  // Both metrics of a scrape are of one look.
  const look = (): Promise<true | null> => {
    looking ??= inTime(() => fill.look().then(() => true as const)).finally(() => {
      looking = null;
    });
    return looking;
  };
  const gauge = (name: string, help: string, read: () => number | null): void => {
    const value: Gauge = new Gauge({
      name: `tablog_fill_${name}`,
      help,
      registers: [registry],
      collect: async () => {
        const left = (await look()) === null ? null : read();
        if (left === null) value.remove();
        else value.set(left);
      },
    });
  };
  gauge(
    'events_left',
    'Events that are left until a read model is filled, by a new version or by a replay; 0: no fill is under way.',
    () => fill.eventsLeft,
  );
  gauge('seconds_left', 'How long that takes at the rate so far.', () => fill.secondsLeft);
}
