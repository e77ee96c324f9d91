/** The lines of the report. */
import type { Goal } from '../measurements.ts';
import { quantile } from '../neighbour-teams.ts';
import { judge, median, show, showRatio, verdict } from '../report.ts';

/** Milliseconds of each request, by round. */
export type Times = number[][];

/** A line that compares a speed of the service with that of the yardstick. */
export function speedLine(label: string, rows: number, theirs: Times, ours: Times, goal: Goal | undefined): string[] {
  const shown = (times: Times): string[] => [show(p50(times)), show(quantile(times.flat(), 0.95))];
  return [label, rows.toLocaleString('en'), ...shown(theirs), ...shown(ours), ...judged(theirs, ours, goal)];
}

/** A line that compares the times of an operation with the times of a cheaper one. */
export function costLine(label: string, over: Times, than: string, under: Times, goal: Goal): string[] {
  return [label, show(p50(over)), than, show(p50(under)), ...judged(over, under, goal)];
}

/** The ratio, its range in single rounds, and the goal. */
function judged(over: Times, under: Times, goal: Goal | undefined): string[] {
  const ratio = p50(over) / p50(under);
  const [, rounds] = showRatio(over.map(median), under.map(median));
  const { goal: shown, met } = judge(ratio, goal);
  return [ratio.toFixed(2), rounds, shown ?? '', verdict(met)];
}

function p50(times: Times): number {
  return median(times.flat());
}
