/** Metrics of the fill of a read model, which a new version does when it starts. */
import { Gauge, type Registry } from 'prom-client';
import type { FillProgress } from '../replay/fill-progress.ts';

export type AskedFill = Pick<FillProgress, 'eventsLeft' | 'secondsLeft'>;

export function addFillMetrics(registry: Registry, fill: AskedFill): void {
  const registers = [registry];
  const events: Gauge = new Gauge({
    name: 'tablog_fill_events_left', help: 'Events that are left until the read model of a new version is filled; 0: no fill is under way.', registers,
    collect: () => events.set(fill.eventsLeft),
  });
  const seconds: Gauge = new Gauge({
    name: 'tablog_fill_seconds_left', help: 'How long that takes at the rate so far.', registers,
    collect: () => {
      const left = fill.secondsLeft;
      if (left === null) seconds.remove();
      else seconds.set(left);
    },
  });
}
