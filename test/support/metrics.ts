/** Parses `/metrics`: the text format of Prometheus. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const samplePattern = /^(?<name>[a-z][a-z0-9_]*)(?:\{(?<labels>[^{}]*)\})? (?<value>[0-9.e+-]+|Nan)$/;
const labelPattern = /^(?<name>[a-z_]+)="(?<value>[^"\\]*)"$/;

/** Throws if a line is not in the format, or if a sample occurs twice. */
export function parseMetrics(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !/^# (HELP|TYPE) [a-z]/.test(line));
  if (new Set(lines.map((line) => line.split(' ', 1)[0])).size !== lines.length) throw new Error(`twice in:\n${text}`);
  return lines.map((line) => {
    const groups = match(samplePattern, line);
    const labels = (groups['labels'] ?? '')
      .split(',')
      .filter((label) => label !== '')
      .map((label) => {
        const { name, value } = match(labelPattern, label);
        return [name!, value!] as const;
      });
    return { name: groups['name']!, labels: Object.fromEntries(labels), value: Number(groups['value']) };
  });
}

/** The sum of the samples with this name and at least these labels; undefined if there are none. */
export function sumOf(samples: readonly Sample[], name: string, labels: Sample['labels'] = {}): number | undefined {
  const found = samples.filter((sample) => {
    return sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  });
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
}

/** The values of a metric's label, sorted. */
export function labelValues(samples: readonly Sample[], name: string, label: string): string[] {
  const found = samples.filter((sample) => sample.name === name).map(({ labels }) => labels[label] ?? '');
  return [...new Set(found)].toSorted();
}

function match(pattern: RegExp, text: string): Record<string, string | undefined> {
  const found = pattern.exec(text);
  if (!found) throw new Error(`not in the text format of Prometheus: ${text}`);
  return found.groups!;
}
