/**
 * Simulates as many histories, or for as long, as requested: `npm run simulate -- [--histories N] [--seconds N] [--seed
 * N] [--fault NAME]... [--plant NAME] [--processes N]`. Ends with 1 at the first history that has a problem, and prints
 * its seed: `--histories 1 --seed N` repeats it exactly.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { simulateTime } from './clock.ts';

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: 'Infinity' },
    seconds: { type: 'string', default: 'Infinity' },
    seed: { type: 'string', default: String(Date.now() % 1e9) },
    fault: { type: 'string', multiple: true },
    plant: { type: 'string' },
    processes: { type: 'string', default: '1' },
  },
});
const [histories, secondsMax, seed, processes] = [values.histories, values.seconds, values.seed, values.processes].map(
  Number,
) as [number, number, number, number];

/**
 * With these options, processes do not take processor time from each other for garbage collection, and collect rarely:
 * 15 % more histories per second.
 */
const garbageCollection = ['--single-threaded-gc', '--max-semi-space-size=64'];

/** The seeds of processes are this far apart. */
const seedsOfProcess = 1e9;

process.exitCode = processes > 1 ? await simulateInProcesses() : await simulateHere();

/** Distributes the histories. Resolves to the exit code. */
async function simulateInProcesses(): Promise<number> {
  const options = [
    ...(values.fault ?? []).flatMap((fault) => ['--fault', fault]),
    ...(values.plant === undefined ? [] : ['--plant', values.plant]),
  ];
  const codes = await Promise.all(
    Array.from({ length: processes }, async (_, number) => {
      const child = fork(
        import.meta.filename,
        [
          '--histories',
          String(Math.ceil(histories / processes)),
          '--seconds',
          values.seconds,
          '--seed',
          String(seed + number * seedsOfProcess),
          ...options,
        ],
        { execArgv: garbageCollection },
      );
      const [code] = await once(child, 'exit');
      return (code as number | null) ?? 1;
    }),
  );
  return Math.max(...codes);
}

/** Resolves to the exit code. */
async function simulateHere(): Promise<number> {
  const clock = process.hrtime;
  const began = clock.bigint();
  const seconds = (): number => Number(clock.bigint() - began) / 1e9;
  process.stderr.write(`SEED=${seed}\n`);

  simulateTime();
  (await import('./connections.ts')).simulatePostgres();
  const { simulate } = await import('./history.ts');
  const faults = (await plant(values.plant)) ?? values.fault;

  const counts = new Map<string, number>();
  let [count, calls, struck, ms, slowest] = [0, 0, 0, 0, 0];
  for (; count < histories && seconds() < secondsMax; count += 1) {
    const {
      log,
      faults: several,
      calls: made,
      ms: lasted,
      recoveryMs,
      problems,
    } = await simulate(seed + count, faults);
    for (const fault of several) counts.set(`${log}: ${fault}`, (counts.get(`${log}: ${fault}`) ?? 0) + 1);
    calls += made;
    struck += several.length;
    ms += lasted;
    slowest = Math.max(slowest, recoveryMs);
    if (problems.length === 0) continue;
    process.stdout.write(
      `The history of seed ${seed + count} (${log}: ${several.join(' + ')}) has problems:\n${problems.slice(0, 10).join('\n')}\n`,
    );
    return 1;
  }
  for (const [name, number] of [...counts].toSorted()) process.stdout.write(`${String(number).padStart(8)}  ${name}\n`);
  const hours = (ms / 3_600_000).toFixed(1);
  process.stdout.write(
    `${struck} faults in ${hours} simulated hours; the slowest recovery took ${(slowest / 1000).toFixed(1)} simulated seconds\n`,
  );
  process.stdout.write(
    `${count} histories from seed ${seed} on, ${calls} calls, ${Math.round(seconds())} s, ${(count / seconds()).toFixed(1)} histories a second: no problem\n`,
  );
  return 0;
}

/** Plants a bug. Resolves to the faults that show it; undefined: no bug was planted. */
async function plant(name: string | undefined): Promise<readonly string[] | undefined> {
  if (name === undefined) return undefined;
  const { simulationPlants } = await import('./plants.ts');
  const planted = simulationPlants[name];
  if (planted === undefined) throw new Error(`there is no such plant: ${name}`);
  planted.plant();
  return planted.faults;
}
