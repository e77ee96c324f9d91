/**
 * `npm run bench:attacks`: the response times of one team's PATCHes while another team of the same partition attacks,
 * compared with a similar normal load. See README.md.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Attack, Teams } from './attacks/attack.ts';
import type { LoadResult, LoadToRun } from './attacks/attack-worker.ts';
import { attacks } from './attacks/list.ts';
import { query, settle, startServers } from './environment.ts';
import { createNeighbours, Patcher, quantile } from './neighbour-teams.ts';
import { logKind, namesOf, readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { renderTable, show } from './report.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService } from './service-processes.ts';

const options = {
  log: logKind,
  only: namesOf(attacks),
  seconds: wholeNumber(10),
  rounds: wholeNumber(3),
};

type Options = OptionsOf<typeof options>;

/** A measurement: the times of the neighbour's PATCHes, and the result of the load. */
interface Measured extends LoadResult {
  readonly times: readonly number[];
  readonly peakMiB: number | undefined;
  readonly grownMiB: number;
}

/** One round of an attack. */
interface Round {
  readonly idle: readonly number[];
  readonly behaving: Measured;
  readonly harmful: Measured;
}

async function run({ log, only: chosen, seconds, rounds }: Options, surroundings: Surroundings): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const {
    databases: { service: database },
    brokers,
  } = await startServers(surroundings, ['service'], log);
  const environment = serviceEnvironment(database, brokers, 'attacks');
  const { target, processes } = await startService(
    { environment, folder: join(folder, 'service') },
    ['all'],
    resources,
    signal,
  );
  const { pid } = processes[0]!;
  const teams = await createNeighbours(
    environment,
    target,
    1 + 2 * chosen.reduce((sum, attack) => sum + attack.teams, 0),
    folder,
    signal,
  );
  const patcher = await Patcher.open(teams.pop()!, resources, signal);
  // Warm up. The JIT of a Kafka broker takes longer.
  await patcher.patchFor(log === 'kafka' ? 15 : 3);

  const prepare = async (attack: Attack, isHarmful: boolean): Promise<Worker> => {
    const workerData = {
      attack: attack.name,
      isHarmful,
      teams: teams.splice(-attack.teams) as unknown as Teams,
    } satisfies LoadToRun;
    const worker = new Worker(new URL('attacks/attack-worker.ts', import.meta.url), { workerData });
    await once(worker, 'message', { signal });
    return worker;
  };
  const measure = async (worker: Worker): Promise<Measured> => {
    await settle([database]);
    const before = await databaseMiB(database);
    await forgetPeakMemory(pid);
    tell(worker);
    const times = await patcher.patchFor(seconds);
    tell(worker);
    const [result] = (await once(worker, 'message', { signal })) as [LoadResult];
    return { ...result, times, peakMiB: await peakMemoryMiB(pid), grownMiB: (await databaseMiB(database)) - before };
  };
  const measureIdle = async (): Promise<readonly number[]> => {
    await settle([database]);
    return patcher.patchFor(seconds);
  };

  const lines: string[][] = [];
  for (const attack of chosen) {
    const workers: Worker[] = [];
    try {
      for (const isHarmful of [false, true]) workers.push(await prepare(attack, isHarmful));
      const [behaves, harms] = workers as [Worker, Worker];
      const measured: Round[] = [];
      while (measured.length < rounds) {
        const idle = await measureIdle();
        // Which side goes first changes each round.
        const first = await measure(measured.length % 2 === 0 ? behaves : harms);
        const second = await measure(measured.length % 2 === 0 ? harms : behaves);
        const [behaving, harmful] = measured.length % 2 === 0 ? [first, second] : [second, first];
        measured.push({ idle, behaving, harmful });
        const shown = [idle, behaving.times, harmful.times].map(
          (times) => `${show(quantile(times, 0.5))} and ${show(quantile(times, 0.99))}`,
        );
        console.log(
          `${attack.name}, round ${measured.length}: PATCH p50 and p99, ms: ${shown[0]} idle, ${shown[1]} beside a normal load, ${shown[2]} under attack`,
        );
      }
      const { what, insteadOf } = attack;
      const [answers, usual] = [measured.map(({ harmful }) => harmful), measured.map(({ behaving }) => behaving)].map(
        (sides) => JSON.stringify(addAnswers(sides)),
      );
      console.log(`${attack.name}: ${what}; instead of ${insteadOf}\n  answers ${answers}; instead of ${usual}\n`);
      lines.push(lineOf(attack.name, measured));
    } finally {
      for (const worker of workers) await worker.terminate();
    }
  }
  console.log(
    renderTable([
      [
        'PATCH, ms (medians of rounds)',
        'p99 when idle',
        'beside a normal load',
        'under attack',
        'ratio (goal: <= 2)',
        'of rounds',
        'of the p50',
        'to idle (goal: <= 5)',
        'longest (goal: < 500)',
        'peak memory, MiB (goal: < 512)',
        'database grew, MiB',
        'bodies accepted, MiB',
      ],
      ...lines,
    ]),
  );
}

/** The figures of an attack: medians of the rounds, and maxima for longest times and memory. */
function lineOf(name: string, rounds: readonly Round[]): string[] {
  const medianOf = (part: number, times: (round: Round) => readonly number[]): number =>
    quantile(
      rounds.map((round) => quantile(times(round), part)),
      0.5,
    );
  const ratiosOf = (part: number, than: (round: Round) => readonly number[]): number[] =>
    rounds.map((round) => quantile(round.harmful.times, part) / quantile(than(round), part));
  const highest = (figures: readonly (number | undefined)[]): string =>
    show(figures.reduce((a, b) => (a === undefined || b === undefined ? undefined : Math.max(a, b))));
  const ratios = ratiosOf(0.99, ({ behaving }) => behaving.times);
  return [
    name,
    ...[({ idle }: Round) => idle, ({ behaving }: Round) => behaving.times, ({ harmful }: Round) => harmful.times].map(
      (times) => show(medianOf(0.99, times)),
    ),
    quantile(ratios, 0.5).toFixed(1),
    `${Math.min(...ratios).toFixed(1)} to ${Math.max(...ratios).toFixed(1)}`,
    quantile(
      ratiosOf(0.5, ({ behaving }) => behaving.times),
      0.5,
    ).toFixed(1),
    quantile(
      ratiosOf(0.99, ({ idle }) => idle),
      0.5,
    ).toFixed(1),
    show(Math.max(...rounds.map(({ harmful }) => quantile(harmful.times, 1)))),
    highest(rounds.map(({ harmful }) => harmful.peakMiB)),
    highest(rounds.map(({ harmful }) => harmful.grownMiB)),
    highest(rounds.map(({ harmful }) => harmful.acceptedBytes / 2 ** 20)),
  ];
}

/** The number of answers of all rounds, by status. */
function addAnswers(measured: readonly Measured[]): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const { answers } of measured)
    for (const [status, count] of Object.entries(answers)) sums[status] = (sums[status] ?? 0) + count;
  return sums;
}

/** Tells a load to begin, and then to end. */
function tell(worker: Worker): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- this is no window
  worker.postMessage(null);
}

async function databaseMiB(url: string): Promise<number> {
  const [row] = await query<{ bytes: string }>(url, 'select pg_database_size(current_database()) as bytes');
  return Number(row!.bytes) / 2 ** 20;
}

/** Makes Linux restart counting the peak memory of a process. */
async function forgetPeakMemory(pid: number): Promise<void> {
  if (process.platform === 'linux') await writeFile(`/proc/${pid}/clear_refs`, '5');
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
