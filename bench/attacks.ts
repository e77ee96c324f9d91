/**
 * `npm run bench:attacks`: the response times of one team's PATCHes while another team of the same partition does its worst, beside a
 * load of the same kind from a team that behaves. See README.md.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Attack } from './attacks/attack.ts';
import type { LoadResult, LoadToRun } from './attacks/attack-worker.ts';
import { attacks } from './attacks/list.ts';
import { createDatabase, describeEnvironment, query, renderFacts, settle, startKafka, startPostgres } from './environment.ts';
import { createNeighbours, Patcher, quantile } from './neighbour-teams.ts';
import { readLogKind, readWholeNumber, type LogKind } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { renderTable, show } from './report.ts';
import type { Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService } from './service-processes.ts';

interface Options {
  log: LogKind;
  chosen: readonly Attack[];
  seconds: number;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      log: { type: 'string', default: 'postgres' },
      only: { type: 'string', default: attacks.map(({ name }) => name).join(',') },
      seconds: { type: 'string', default: '15' },
    },
  });
  const chosen = values.only.split(',').map((name) => {
    const found = attacks.find((attack) => attack.name === name);
    if (found === undefined) throw new Error(`--only takes names out of ${attacks.map((attack) => attack.name).join(', ')}`);
    return found;
  });
  return { log: readLogKind(values.log), chosen, seconds: readWholeNumber('--seconds', values.seconds, 1) };
}

/** One measurement: the times of the neighbour's PATCHes, and what the load came to. */
interface Measured extends LoadResult {
  readonly times: readonly number[];
  readonly peakMiB: number | undefined;
  readonly grownMiB: number;
}

async function run({ log, chosen, seconds }: Options, { folder, resources, signal }: Surroundings): Promise<void> {
  const database = await createDatabase(await startPostgres(join(folder, 'postgres'), resources), 'service', resources);
  const kafka = log === 'kafka' ? await startKafka(resources) : undefined;
  console.log(renderFacts([...await describeEnvironment({ service: database }), kafka?.fact ?? { what: 'log', value: 'in Postgres' }]));
  const environment = serviceEnvironment(database, kafka?.brokers, 'attacks');
  const { target, processes } = await startService({ environment, folder: join(folder, 'service') }, ['all'], resources, signal);
  const { pid } = processes[0]!;
  const [patching, ...loading] = await createNeighbours(environment, target, 1 + 2 * chosen.length, folder, signal);
  const patcher = await Patcher.open(patching!, resources, signal);
  // Warms up; the JIT of a Kafka broker takes longer.
  await patcher.patchFor(log === 'kafka' ? 15 : 3);

  const measure = async (attack: string, isHarmful: boolean, team: Target): Promise<Measured> => {
    const worker = new Worker(new URL('attacks/attack-worker.ts', import.meta.url), { workerData: { attack, isHarmful, target: team } satisfies LoadToRun });
    try {
      await once(worker, 'message', { signal });
      await settle([database]);
      const before = await databaseMiB(database);
      await forgetPeakMemory(pid);
      tell(worker);
      const times = await patcher.patchFor(seconds);
      tell(worker);
      const [result] = await once(worker, 'message', { signal }) as [LoadResult];
      return { ...result, times, peakMiB: await peakMemoryMiB(pid), grownMiB: (await databaseMiB(database)) - before };
    } finally {
      await worker.terminate();
    }
  };

  await settle([database]);
  const idle = await patcher.patchFor(seconds);
  const lines: string[][] = [];
  for (const { name, what, insteadOf } of chosen) {
    const behaving = await measure(name, false, loading.pop()!);
    const harmful = await measure(name, true, loading.pop()!);
    console.log(`\n${name}: ${what}; instead of ${insteadOf}\n  answers ${JSON.stringify(harmful.answers)}; instead of ${JSON.stringify(behaving.answers)}`);
    const [beside, under] = [quantile(behaving.times, 0.99), quantile(harmful.times, 0.99)];
    lines.push([
      name, show(beside), show(under), (under / beside).toFixed(1), (under / quantile(idle, 0.99)).toFixed(1), show(quantile(harmful.times, 1)),
      show(harmful.peakMiB), show(harmful.grownMiB), show(harmful.acceptedBytes / 2 ** 20),
    ]);
  }
  console.log(`\nPATCH of a neighbour when idle, ms: median ${show(quantile(idle, 0.5))}, p99 ${show(quantile(idle, 0.99))}, longest ${show(quantile(idle, 1))}\n`);
  console.log(renderTable([
    ['PATCH p99, ms', 'beside a load that behaves', 'under attack', 'ratio (goal: <= 2)', 'to idle (goal: <= 5)', 'longest (goal: < 500)',
      'peak memory, MiB (goal: < 512)', 'database grew, MiB', 'bodies accepted, MiB'],
    ...lines,
  ]));
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

/** Has Linux count the peak of a process's memory from now on. */
async function forgetPeakMemory(pid: number): Promise<void> {
  if (process.platform === 'linux') await writeFile(`/proc/${pid}/clear_refs`, '5');
}

await runToEnd(async (surroundings) => run(readOptions(), surroundings));
