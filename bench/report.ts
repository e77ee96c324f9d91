/**
 * The figures of a run: medians over the rounds, and ratios to the yardstick.
 */
import { memoryGoalMiB, type Measurement } from './measurements.ts';

/** One figure per round, in the unit of the measurement, in the order of the rounds. */
export interface Rounds {
  yardstick: number[];
  service: number[];
}

/** Processor time per request in µs, one figure per round: of a side's own processes, and of Postgres. */
export interface ProcessorRounds {
  own: number[];
  postgres: number[];
}

export interface Figure {
  name: string;
  label: string;
  unit: Measurement['unit'];
  yardstick: { median: number; rounds: number[] };
  service: { median: number; rounds: number[] };
  /** The service's median over the yardstick's. */
  ratio: number;
  /** The lowest and the highest ratio of a single round. Their distance shows how reliable the figure is. */
  ratioOfRounds: { lowest: number; highest: number };
  goal: string | undefined;
  met: boolean | undefined;
}

/** The processor time per request of both sides. */
export interface ProcessorFigure {
  label: string;
  yardstick: ProcessorRounds;
  service: ProcessorRounds;
}

/** Peak resident memory in MiB of each side's largest process; undefined if it cannot be read. */
export interface Memory {
  yardstick: number | undefined;
  service: number | undefined;
}

interface RenderOptions {
  /** The number of processes of the service. */
  processes: number;
  /** Whether figures are checked against goals. */
  judged: boolean;
}

export function toFigure(
  { name, label, unit }: Measurement,
  { yardstick, service }: Rounds,
  goal: Measurement['goal'],
): Figure {
  const { ratio, ratioOfRounds } = ratioOf(service, yardstick);
  return {
    name,
    label,
    unit,
    yardstick: { median: median(yardstick), rounds: yardstick },
    service: { median: median(service), rounds: service },
    ratio,
    ratioOfRounds,
    ...judge(ratio, goal),
  };
}

/** The ratio of two medians, and the range of the ratios of single rounds. */
function ratioOf(over: readonly number[], under: readonly number[]): Pick<Figure, 'ratio' | 'ratioOfRounds'> {
  const ratios = over.map((value, round) => value / under[round]!);
  return {
    ratio: median(over) / median(under),
    ratioOfRounds: { lowest: Math.min(...ratios), highest: Math.max(...ratios) },
  };
}

/** The ratio of these rounds, for the columns `ratio` and `rounds`. */
export function showRatio(over: readonly number[], under: readonly number[]): [ratio: string, rounds: string] {
  return showRatioOf(ratioOf(over, under));
}

function showRatioOf({
  ratio,
  ratioOfRounds: { lowest, highest },
}: Pick<Figure, 'ratio' | 'ratioOfRounds'>): [ratio: string, rounds: string] {
  return [ratio.toFixed(2), `${lowest.toFixed(2)} to ${highest.toFixed(2)}`];
}

/** The text of a goal for a ratio, and whether it is met; undefined if there is no goal. */
export function judge(ratio: number, goal: Measurement['goal']): Pick<Figure, 'goal' | 'met'> {
  if (!goal) return { goal: undefined, met: undefined };
  if ('atLeast' in goal) return { goal: `>= ${goal.atLeast}`, met: ratio >= goal.atLeast };
  return { goal: `<= ${goal.atMost}`, met: ratio <= goal.atMost };
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** The figures as a Markdown table. */
export function renderFigures(
  figures: readonly Figure[],
  memory: Memory,
  { processes, judged }: RenderOptions,
): string {
  const lines = figures.map((figure) => [
    figure.label,
    figure.unit,
    show(figure.yardstick.median),
    show(figure.service.median),
    ...showRatioOf(figure),
    figure.goal ?? '',
    verdict(figure.met),
  ]);
  const memoryMet = judged && memory.service !== undefined ? memory.service < memoryGoalMiB : undefined;
  const memoryLabel = processes === 1 ? 'peak memory' : `peak memory, the largest of ${processes} processes`;
  return renderTable([
    ['', 'unit', 'yardstick', 'service', 'ratio', 'rounds', 'goal', ''],
    ...lines,
    [
      memoryLabel,
      'MiB',
      show(memory.yardstick),
      show(memory.service),
      '',
      '',
      judged ? `< ${memoryGoalMiB} MiB` : '',
      verdict(memoryMet),
    ],
  ]);
}

/** Processor time per request as a Markdown table: of Node and of Postgres; the ratio is that of their sums. */
export function renderProcessorTime(figures: readonly ProcessorFigure[]): string {
  const shown = ({ own, postgres }: ProcessorRounds): string => `${show(median(own))} + ${show(median(postgres))}`;
  const sums = ({ own, postgres }: ProcessorRounds): number[] => own.map((time, round) => time + postgres[round]!);
  return renderTable([
    ['processor time of a request, Node + Postgres', 'unit', 'yardstick', 'service', 'ratio', 'rounds'],
    ...figures.map(({ label, yardstick, service }) => [
      label,
      'µs',
      shown(yardstick),
      shown(service),
      ...showRatio(sums(service), sums(yardstick)),
    ]),
  ]);
}

/** The text for the last column of a table. */
export function verdict(met: boolean | undefined): string {
  if (met === undefined) return '';
  return met ? 'met' : 'missed';
}

/** Formats a figure: with two decimals below 100, otherwise as an integer. */
export function show(value: number | undefined): string {
  if (value === undefined) return '?';
  return value < 100 ? value.toFixed(2) : Math.round(value).toLocaleString('en');
}

/** A Markdown table; the first line has the titles. */
export function renderTable([titles = [], ...rows]: readonly string[][]): string {
  const widths = titles.map((title, column) => Math.max(3, title.length, ...rows.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
