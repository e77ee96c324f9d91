/** Reports, at the end of a run, how long the files of each test project took, and the factor of all time limits. */
import { limitMs } from './time-limits.ts';

/** The part of Jest's results that is used here. */
interface Results {
  readonly startTime: number;
  readonly testResults: readonly {
    readonly displayName?: { readonly name: string };
    readonly perfStats: { readonly runtime: number };
    readonly numPassingTests: number;
    readonly numFailingTests: number;
  }[];
}

interface Sum {
  files: number;
  tests: number;
  seconds: number;
}

export default class Durations {
  onRunComplete(_contexts: unknown, { testResults, startTime }: Results): void {
    const sums = new Map<string, Sum>();
    for (const { displayName, perfStats, numPassingTests, numFailingTests } of testResults) {
      const name = displayName?.name ?? 'no project';
      const sum = sums.get(name) ?? { files: 0, tests: 0, seconds: 0 };
      sum.files += 1;
      sum.tests += numPassingTests + numFailingTests;
      sum.seconds += perfStats.runtime / 1000;
      sums.set(name, sum);
    }
    const lines = Array.from(sums, ([name, { files, tests, seconds }]) => {
      return `${name.padEnd(22)}${String(files).padStart(6)}${String(tests).padStart(8)}${seconds.toFixed(0).padStart(10)}`;
    });
    const head = `${'Project'.padEnd(22)} files   tests   seconds`;
    const total = ((Date.now() - startTime) / 1000).toFixed(0);
    process.stderr.write(
      `\n${[head, ...lines].join('\n')}\nTwo files run at a time: ${total} s together. The machine's slowness, which multiplies time limits, is ${limitMs(1000) / 1000}.\n`,
    );
  }
}
