/** The tests that a mutant meets, one step after the other, until one notices it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { env, execPath } from 'node:process';
import { limitMs } from '../support/time-limits.ts';
import type { MutationTarget } from './targets.ts';

export interface TestStep {
  readonly name: string;
  /** The arguments of Node. */
  readonly command: readonly string[];
}

export interface Ended {
  readonly result: 'passed' | 'failed' | 'timeout';
  readonly output: string;
}

/** How long a step may take, in milliseconds: a mutant may never end. */
const stepMs = 240_000;
/** Nor may it take more memory than this, in MiB. */
const heapMax = 1536;

const jest = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', 'node_modules/jest/bin/jest.js'];

/** Runs the tests in a folder until the first one fails. */
export async function run({ command }: TestStep, folder: string, signal: AbortSignal): Promise<Ended> {
  signal.throwIfAborted();
  // Ends all processes that a step started: as a group of its own.
  const child = spawn(execPath, command, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, NODE_OPTIONS: `--max-old-space-size=${heapMax}` },
  });
  const end = (): void => {
    process.kill(-child.pid!, 'SIGKILL');
  };
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    end();
  }, limitMs(stepMs));
  signal.addEventListener('abort', end);
  try {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-20_000);
      });
    }
    const [code] = (await once(child, 'exit')) as [number | null];
    signal.throwIfAborted();
    return { result: isOver ? 'timeout' : code === 0 ? 'passed' : 'failed', output };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}

/**
 * The steps for a mutant of a file: the unit tests that import it, those of its own folder first; the tests on a
 * Postgres that import it; the compiler; simulated histories; and with `withApi` the interface. `file`: null for all
 * files. `related`: the tests of the first two kinds that import it, even through others.
 */
export function stepsFor(
  file: string | null,
  { isSimulated, api }: Pick<MutationTarget, 'isSimulated' | 'api'>,
  related: readonly string[],
  withApi: boolean,
): TestStep[] {
  const folder = file === null ? null : /^(?:src\/)?([^/]+)/.exec(file)![1];
  const unit = related.filter((test) => test.includes('/test/unit/'));
  const near = unit.filter((test) => test.includes(`/test/unit/${folder}/`));
  const ofJest = (name: string, project: string, tests: readonly string[]): TestStep[] => {
    return tests.length === 0
      ? []
      : [
          {
            name,
            command: [
              ...jest,
              '--ci',
              '--bail',
              '--silent',
              '--runInBand',
              '--selectProjects',
              project,
              '--runTestsByPath',
              ...tests,
            ],
          },
        ];
  };
  return [
    ...ofJest('unit tests', 'unit', near),
    ...ofJest(
      'unit tests',
      'unit',
      unit.filter((test) => !near.includes(test)),
    ),
    ...ofJest(
      'tests on Postgres',
      'servers',
      related.filter((test) => test.includes('/test/servers/')),
    ),
    { name: 'types', command: ['node_modules/typescript-7/bin/tsc', '-p', '.'] },
    ...(isSimulated
      ? [{ name: 'simulation', command: ['test/simulation/main.ts', '--histories', '500', '--seed', '1'] }]
      : []),
    ...(withApi
      ? ofJest(
          'API tests',
          'api',
          api.map((name) => `test/api/${name}.test.ts`),
        )
      : []),
  ];
}

/** The tests alone and on Postgres that import a file, even through others. */
export async function findRelated(file: string, folder: string, signal: AbortSignal): Promise<string[]> {
  const command = [...jest, '--selectProjects', 'unit', 'servers', '--listTests', '--json', '--findRelatedTests', file];
  const { result, output } = await run({ name: 'list', command }, folder, signal);
  const list = /^\[.*\]$/m.exec(output);
  if (result !== 'passed' || list === null) throw new Error(`the tests of ${file} cannot be listed:\n${output}`);
  return JSON.parse(list[0]) as string[];
}
