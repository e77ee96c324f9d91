/**
 * `node test/ci/conclude.ts FOLDER` ends a CI run: repeats each test file that failed, alone, and prints the verdict.
 * The last line is `N passed, N failed, N skipped`. Exits with 1 if anything failed twice, or could not be repeated.
 *
 * FOLDER has, for each command of Jest, its exit code and results as `TEST_ON.exit` and `TEST_ON.json`, and
 * `smoke.exit` and `smoke.out` of `npm run smoke`, which counts as one test, as does `fuzz:document`.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { filesToRepeat, judge, type FileResult, type Run } from './verdict.ts';

const root = join(import.meta.dirname, '..', '..');
/** Commands without results of Jest: what they prove, their files, and what npm runs. */
const commands: Readonly<
  Record<string, { readonly proves: string; readonly file: string; readonly npm: readonly string[] }>
> = {
  'smoke': { proves: 'the deployment in containers', file: 'test/compose/smoke.ts', npm: ['run', 'smoke'] },
  'fuzz:document': {
    proves: 'a public fuzzer finds the service as its document says',
    file: 'test/document-fuzz/main.ts',
    npm: ['run', 'fuzz:document', '--', '--examples', '3', '--seed', '1'],
  },
};
/** More failed files than this are not repeated. */
const repeatedMax = 10;
/** All repetitions together may take this long, in seconds. */
const repeatingMax = 480;

const folder = process.argv[2];
if (folder === undefined) throw new Error('the folder of the results is missing');

const runs = readdirSync(folder)
  .filter((file) => file.endsWith('.exit'))
  .map((file) => readRun(basename(file, '.exit')));
const toRepeat = filesToRepeat(runs, repeatedMax);
const endsAt = performance.now() + repeatingMax * 1000;
const repeated = new Map<FileResult, FileResult>();
for (const { run, file } of toRepeat) {
  const again = repeat(run, file);
  if (again !== null) repeated.set(file, again);
}
const { passed, failed, skipped, report } = judge(runs, repeated);
for (const paragraph of report) console.log(paragraph);
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed > 0 ? 1 : 0;

function readRun(name: string): Run {
  const exitCode = Number(readFileSync(join(folder!, `${name}.exit`), 'utf8'));
  if (!(name in commands))
    return { name: `TEST_ON=${name}`, exitCode, files: readResults(join(folder!, `${name}.json`)) };
  return { name, exitCode, files: [resultOf(name, exitCode, readFileSync(join(folder!, `${name}.out`), 'utf8'))] };
}

/** Null if the command ended before it wrote any. */
function readResults(file: string): FileResult[] | null {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const { testResults } = JSON.parse(text) as { testResults: FileResult[] };
  return testResults.map((result) => ({ ...result, name: relative(root, result.name) }));
}

/** The end of its output says why it failed. */
function resultOf(name: string, exitCode: number, output: string): FileResult {
  const { proves, file } = commands[name]!;
  const status = exitCode === 0 ? 'passed' : 'failed';
  const test = { fullName: proves, status, failureMessages: [output.slice(-1500)] };
  return { name: file, status, message: '', assertionResults: [test] };
}

/** Null if there is no time left, or if it ended without results. */
function repeat({ name }: Run, file: FileResult): FileResult | null {
  const secondsLeft = Math.ceil((endsAt - performance.now()) / 1000);
  if (secondsLeft <= 0) return null;
  process.stderr.write(`\n${file.name} failed, and runs once more.\n`);
  // Ends everything that the command started.
  const timed = ['--kill-after=20', String(secondsLeft)];
  if (name in commands) {
    const { status, stdout } = spawnSync(
      'timeout',
      [...timed, 'sh', '-c', 'npm "$@" 2>&1', 'npm', ...commands[name]!.npm],
      { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
    );
    return resultOf(name, status ?? 1, stdout);
  }
  const results = join(folder!, `repeated-${repeated.size}.json`);
  const jest = [
    'run',
    'jest',
    '--',
    '--ci',
    '--maxWorkers=1',
    '--json',
    `--outputFile=${results}`,
    '--runTestsByPath',
    file.name,
  ];
  spawnSync('timeout', [...timed, 'npm', ...jest], {
    cwd: root,
    env: { ...process.env, TEST_ON: name.replace('TEST_ON=', '') },
    stdio: ['ignore', 2, 2],
  });
  return readResults(results)?.[0] ?? null;
}
