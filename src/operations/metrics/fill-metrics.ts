/** Metrics of the fill of a read model, which a new version does when it starts, or `tablog replay`. */
import { Gauge, type Registry } from 'prom-client';
import type { FillProgress } from '../replay/fill-progress.ts';
import { withScrapeTimeout } from './scrape-timeout.ts';

type AskedFill = Pick<FillProgress, 'look' | 'eventsLeft' | 'secondsLeft'>;

/** Adds the metrics. While Postgres is away they have no values. */
export function addFillMetrics(registry: Registry, fill: AskedFill): void {
  let looking: Promise<true | null> | null = null;
  // Both metrics of a scrape share one query.
  const look = (): Promise<true | null> => {
    looking ??= withScrapeTimeout(() => fill.look().then(() => true as const)).finally(() => {
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
    'Events still to project until a new version, or a replay, has filled its read model; 0 if none is being filled.',
    () => fill.eventsLeft,
  );
  gauge(
    'seconds_left',
    'Estimated seconds until the read model is filled, at the rate so far.',
    () => fill.secondsLeft,
  );
}
