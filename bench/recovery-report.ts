/** Renders the results of the recovery benchmark as Markdown tables. */
import type { ReplayTimes } from './replay.ts';
import { median, renderTable, show } from './report.ts';
import { endings, sessionTimeoutSeconds, type Takeover } from './takeover.ts';

export function renderTakeovers(takeovers: readonly Takeover[]): string {
  const titles = [
    'projector ended by', 'times', 'until writes go on: median, s', 'longest, s',
    'a write waited: median, s', 'longest, s', 'session timeout, s',
  ];
  const lines = endings.map((ending) => {
    const ofEnding = takeovers.filter((takeover) => takeover.ending === ending);
    const sinceSignal = ofEnding.map((takeover) => takeover.sinceSignal);
    const waits = ofEnding.map(({ wait }) => wait);
    const figures = [median(sinceSignal), Math.max(...sinceSignal), median(waits), Math.max(...waits)].map(show);
    return [ending, String(ofEnding.length), ...figures, String(sessionTimeoutSeconds)];
  });
  return renderTable([titles, ...lines]);
}

export function renderReplay({ events, rows, reading, copying, replay, verify }: ReplayTimes): string {
  const line = (what: string, seconds: number, ofEvents = show(events / seconds)): string[] => [
    what, show(seconds), ofEvents, show(rows / seconds), (reading / seconds).toFixed(2), (copying / seconds).toFixed(2),
  ];
  const held = `${events.toLocaleString('en')} events, ${rows.toLocaleString('en')} rows`;
  return renderTable([
    [held, 'seconds', 'events/s', 'rows/s', 'of reading', 'of COPY'],
    line('reading the log', reading),
    line('COPY of as many rows', copying, ''),
    line('replay', replay),
    line('verify', verify),
  ]);
}
