import { useEffect, useRef, useSyncExternalStore, type ReactElement } from 'react';
import uPlot from 'uplot';
import { showTime } from './format.ts';

interface LineChartProps {
  /** A label for people who cannot see the chart. */
  readonly label: string;
  readonly kind: 'time' | 'number' | 'name';
  /** The title of the horizontal axis. */
  readonly across: string;
  readonly names?: readonly string[];
  readonly series: readonly string[];
  readonly values: readonly (readonly (number | null)[])[];
  readonly height?: number;
}

const colours = ['--accent', '--series-2', '--series-3', '--series-4', '--series-5', '--series-6'];

/** A chart with curves over times or numbers, or with bars over names. */
export function LineChart({
  label,
  kind,
  across,
  names = [],
  series,
  values,
  height = 320,
}: LineChartProps): ReactElement {
  const parent = useRef<HTMLDivElement>(null);
  const isDark = useIsDark();
  useEffect(() => {
    const element = parent.current!;
    const isNamed = kind === 'name';
    const axis = {
      stroke: colourOf(element, '--faint'),
      grid: { stroke: colourOf(element, '--line'), width: 1 },
      ticks: { stroke: colourOf(element, '--line'), width: 1 },
    };
    const chart = new uPlot(
      {
        width: element.clientWidth,
        height,
        scales: {
          x: {
            time: kind === 'time',
            ...(isNamed && {
              range: (_chart: uPlot, min: number, max: number): [number, number] => [min - 0.6, max + 0.6],
            }),
          },
          y: { range: (_chart, min, max) => [Math.min(0, min), Math.max(0, max) * 1.05 || 1] },
        },
        axes: [
          {
            ...axis,
            ...(isNamed && {
              values: (_chart: uPlot, places: number[]) => places.map((place) => names[place] ?? ''),
              incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
            }),
          },
          { ...axis, size: 70 },
        ],
        series: [
          { label: across, value: (_chart, place: number | null) => placeText(kind, names, place) },
          ...series.map((name, index) => {
            const colour = colourOf(element, colours[index]!);
            return {
              label: name,
              value: (_chart: uPlot, value: number | null) => (value === null ? '' : value.toLocaleString('en')),
              stroke: colour,
              width: 2,
              ...(isNamed &&
                series.length <= 3 && { fill: colour, paths: barsOf(index, series.length), points: { show: false } }),
            };
          }),
        ],
      },
      values as uPlot.AlignedData,
      element,
    );
    const watch = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height }));
    watch.observe(element);
    return () => {
      watch.disconnect();
      chart.destroy();
    };
  }, [kind, across, names, series, values, height, isDark]);
  return <div ref={parent} className="chart" role="img" aria-label={label} />;
}

/** The place under the pointer, for the legend; empty if the pointer is elsewhere. */
function placeText(kind: LineChartProps['kind'], names: readonly string[], place: number | null): string {
  if (place === null) return '';
  if (kind === 'name') return names[place] ?? '';
  return kind === 'time' ? showTime(new Date(place * 1000).toISOString()) : place.toLocaleString('en');
}

/** The bars of a series, next to those of the others. Up to three series fit. */
function barsOf(index: number, count: number): uPlot.Series.PathBuilder {
  const align = ([[0], [-1, 1], [-1, 0, 1]] as const)[count - 1]![index] as -1 | 0 | 1;
  return uPlot.paths.bars!({ size: [0.7 / count, 60], align });
}

/** A colour of the style sheet, in a form that a canvas accepts. */
function colourOf(element: HTMLElement, name: string): string {
  element.style.color = `var(${name})`;
  const { color } = getComputedStyle(element);
  element.style.color = '';
  return color;
}

const dark = matchMedia('(prefers-color-scheme: dark)');

function useIsDark(): boolean {
  return useSyncExternalStore(
    (onChange) => {
      dark.addEventListener('change', onChange);
      return () => dark.removeEventListener('change', onChange);
    },
    () => dark.matches,
  );
}
