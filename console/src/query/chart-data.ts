/** Turns an answer into a chart: numbers over times, over numbers, or over names. */
import type { AnyRow, SqlResult } from '../../../clients/typescript/src/index.ts';
import { textOfCell } from '../grid/cell-text.ts';
import { textOfType } from '../tables/column-types.ts';
import { showCount, showNumber } from '../ui/format.ts';
import { numberOf } from '../ui/json-tokens.ts';

interface ChartData {
  readonly kind: 'time' | 'number' | 'name';
  /** The column of the horizontal axis. */
  readonly across: string;
  /** The columns with the numbers to draw. */
  readonly series: readonly string[];
  /** Names by place; empty unless the axis has names. */
  readonly names: readonly string[];
  /** First the places on the axis (seconds since 1970, numbers, or 0 and up), then the numbers of each series. */
  readonly values: readonly (readonly (number | null)[])[];
  /** What the chart leaves out; empty if it shows all. */
  readonly leftOut: readonly string[];
}

/** Maximum of rows in a chart. Later rows of the answer are left out. */
const pointsMax = 5000;
/** Maximum of curves in a chart. */
const seriesMax = 6;

/** Null if there is nothing to draw. A chart needs a column of numbers and another column. */
export function chartOf({ columns, data }: SqlResult<AnyRow>): ChartData | null {
  const kinds = new Map(columns.map(({ name, type }) => [name, textOfType(type)]));
  const across = columns.find(({ name }) => kinds.get(name) !== 'number')?.name ?? columns[0]?.name;
  const numbers = columns.map(({ name }) => name).filter((name) => name !== across && kinds.get(name) === 'number');
  const series = numbers.slice(0, seriesMax);
  if (across === undefined || series.length === 0 || data.length === 0) return null;
  const kind = kindOf(kinds.get(across)!);
  const rows = data
    .slice(0, pointsMax)
    .map((row, index) => ({ row, place: kind === 'name' ? index : placeOf(kind, row[across]) }))
    .filter(({ place }) => place !== null);
  if (kind !== 'name') rows.sort((a, b) => a.place! - b.place!);
  return {
    kind,
    across,
    series,
    names: kind === 'name' ? rows.map(({ row }) => textOfCell(row[across])) : [],
    leftOut: [
      ...(data.length > pointsMax
        ? [`First ${showCount(pointsMax, 'row')} of ${showNumber(data.length)}. Group rows in the query to draw all.`]
        : []),
      ...(numbers.length > seriesMax
        ? [`First ${showCount(seriesMax, 'column')} of ${showNumber(numbers.length)}. Select fewer in the query.`]
        : []),
    ],
    values: [rows.map(({ place }) => place), ...series.map((name) => rows.map(({ row }) => numberOf(row[name])))],
  };
}

function kindOf(type: string): ChartData['kind'] {
  if (type === 'date' || type === 'dateTime') return 'time';
  return type === 'number' ? 'number' : 'name';
}

function placeOf(kind: 'time' | 'number', value: unknown): number | null {
  if (kind === 'number') return numberOf(value);
  const ms = Date.parse(String(value));
  return Number.isNaN(ms) ? null : ms / 1000;
}
