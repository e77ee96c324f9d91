/** Renders the results of the recovery benchmark as Markdown tables. */
import type { ReplayTimes } from './replay.ts';
import { median, renderTable, show } from './report.ts';
import { endings, sessionTimeoutSeconds, type Takeover } from './takeover.ts';

export function renderTakeovers(takeovers: readonly Takeover[]): string {
  const titles = [
    'projector ended by',
    'times',
    'until writes go on: median, s',
    'longest, s',
    'a write waited: median, s',
    'longest, s',
    'session timeout, s',
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

/**
 * The goals, divided by the speed of COPY in rows a second, so that they hold on any machine. The goal for patches was
 * 25,950 a second on a machine where COPY copied 359,645 rows a second: 0.072.
 */
const goals = { rows: 0.7, patches: 0.072 };

export function renderReplay({
  events,
  rows,
  patches,
  reading,
  copying,
  replayOfRows,
  replay,
  verify,
}: ReplayTimes): string {
  const copied = rows / copying;
  const line = (what: string, count: number, seconds: number, goal?: number): string[] => {
    const ratio = count / seconds / copied;
    const verdict = goal === undefined ? '' : `>= ${goal}, ${ratio >= goal ? 'met' : 'missed'}`;
    return [what, show(seconds), show(count / seconds), ratio.toFixed(3), verdict];
  };
  return renderTable([
    [`${events.toLocaleString('en')} events`, 'seconds', 'rows or patches/s', 'of COPY', 'goal'],
    line(`COPY of ${rows.toLocaleString('en')} rows`, rows, copying),
    line('reading the log of as many', rows, reading),
    line('replay of them', rows, replayOfRows, goals.rows),
    line(`replay with ${patches.toLocaleString('en')} patches behind them`, rows + patches, replay),
    line('the patches in it', patches, replay - replayOfRows, goals.patches),
    line('verify', rows + patches, verify),
  ]);
}
