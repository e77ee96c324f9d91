/**
 * `npm run test:all [-- [--from-start] STAGE...]`: every test at full scale, stage by stage (stages.ts). An interrupted
 * run resumes if nothing but documentation has changed since. Prints the duration of each stage, and the speed of the
 * machine.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { stages, type Stage } from './stages.ts';

interface Run {
  readonly seconds: number;
  /** The GETs per second that the yardstick answered before the run. */
  readonly speed: string;
  readonly seeds: readonly string[];
  readonly log: string;
}

interface Progress {
  /** The Git tree of the tested files. */
  readonly tree: string;
  /** The runs that have passed, by stage. */
  readonly passed: Record<string, Run[]>;
}

const root = join(import.meta.dirname, '..');
const folder = join(root, 'node_modules', '.cache', 'tablog', 'test-all');
const progressFile = join(folder, 'progress.json');

/** Documents that tests compare with the code, or follow. */
const testedDocuments = ['README.md', 'docs/how-to', 'docs/reference', 'docs/tutorial'];

/** The Git tree of all files that can change a result, as a commit would store them now. */
async function treeOf(): Promise<string> {
  const index = await mkdtemp(join(tmpdir(), 'tablog-index-'));
  const git = (...args: readonly string[]): string => {
    return execFileSync('git', args, {
      cwd: root,
      encoding: 'utf8',
      env: { ...process.env, GIT_INDEX_FILE: join(index, 'index') },
    }).trim();
  };
  try {
    git('add', '--all', '--', '.', ':(exclude)*.md');
    git('add', '--', ...testedDocuments);
    return git('write-tree');
  } finally {
    await rm(index, { recursive: true });
  }
}

async function readProgress(tree: string): Promise<Progress> {
  const text = await readFile(progressFile, 'utf8').catch(() => null);
  const progress = text === null ? null : (JSON.parse(text) as Progress);
  return progress?.tree === tree ? progress : { tree, passed: {} };
}

/** Runs npm; shows and returns its output. */
async function npm(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  log: string,
): Promise<{ output: string; failed: boolean }> {
  const child = spawn('npm', args, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const file = createWriteStream(log);
  let output = '';
  for (const [stream, shown] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      file.write(text);
      shown.write(text);
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  file.end();
  await once(file, 'close');
  return { output, failed: code !== 0 };
}

/** Runs the remaining runs of a stage; resolves to false if one fails. */
async function runStage({ name, command, runs = 1, environment = {} }: Stage, progress: Progress): Promise<boolean> {
  const passed = (progress.passed[name] ??= []);
  while (passed.length < runs) {
    say(`${name}, run ${passed.length + 1} of ${runs}`);
    const { output: speed } = await npm(['run', '--silent', 'speed'], {}, join(folder, 'speed.log'));
    const log = join(folder, `${name}-${passed.length + 1}.log`);
    const started = performance.now();
    const { output, failed } = await npm(command, { TEST_SCALE: 'full', ...environment }, log);
    const seconds = Math.round((performance.now() - started) / 1000);
    if (failed) {
      say(`${name} failed after ${seconds} s: ${relative(root, log)}`);
      return false;
    }
    const seeds = [...new Set(output.match(/(?<=SEED=)-?\d+/g) ?? [])];
    passed.push({ seconds, speed: /[\d,]+(?= GETs)/.exec(speed)?.[0] ?? 'unknown', seeds, log: relative(root, log) });
    await writeFile(progressFile, JSON.stringify(progress));
  }
  return true;
}

function say(words: string): void {
  process.stderr.write(`test:all: ${words}\n`);
}

/** One line per run. */
function report(chosen: readonly Stage[], { passed }: Progress, failed: ReadonlySet<string>): string {
  const rows = chosen.flatMap(({ name, runs = 1 }) => {
    const done = (passed[name] ?? []).map(({ seconds, speed, seeds, log }, at) => {
      const shown = seeds.length > 4 ? `${seeds.length} seeds in ${log}` : seeds.join(' ');
      return [runs === 1 ? name : `${name} ${at + 1}/${runs}`, 'passed', `${seconds} s`, speed, shown];
    });
    return failed.has(name) ? [...done, [name, 'FAILED', '', '', '']] : done;
  });
  const head = ['stage', 'result', 'duration', 'GETs/s', 'seeds'];
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((row) => row[column]!.length)));
  return [head, ...rows]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const {
  values: { 'from-start': fromStart },
  positionals,
} = parseArgs({
  options: { 'from-start': { type: 'boolean', default: false } },
  allowPositionals: true,
});
const unknown = positionals.filter((name) => !stages.some((stage) => stage.name === name));
if (unknown.length > 0) {
  say(
    `there is no stage ${unknown.join(', ')}; there are:\n${stages.map(({ name, proves }) => `  ${name.padEnd(20)}${proves}`).join('\n')}`,
  );
  process.exit(2);
}
const chosen = positionals.length === 0 ? stages : stages.filter(({ name }) => positionals.includes(name));

await mkdir(folder, { recursive: true });
const tree = await treeOf();
const progress = await readProgress(tree);
if (fromStart) for (const { name } of chosen) delete progress.passed[name];
const failed = new Set<string>();
for (const stage of chosen) if (!(await runStage(stage, progress))) failed.add(stage.name);
process.stdout.write(`\nTree ${tree}\n${report(chosen, progress, failed)}\n`);
process.exitCode = failed.size > 0 ? 1 : 0;
