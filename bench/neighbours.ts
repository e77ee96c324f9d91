/**
 * `npm run bench:neighbours`: the response times of one team's PATCHes while another team in the same partition uploads
 * and imports millions of rows. See README.md.
 */
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { rowsPerRequest } from './data.ts';
import { settle, startServers } from './environment.ts';
import { createNeighbours, Patcher, quantile } from './neighbour-teams.ts';
import { logKind, readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { renderTable, show } from './report.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService } from './service-processes.ts';
import type { Loaded, StashLoad } from './stash-load.ts';

const options = {
  log: logKind,
  rows: wholeNumber(3_000_000, { min: rowsPerRequest }),
  seconds: wholeNumber(15),
  connections: wholeNumber(8),
};

type Options = OptionsOf<typeof options>;

async function run(
  { log, rows, seconds: idleSeconds, connections }: Options,
  surroundings: Surroundings,
): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const {
    databases: { service: database },
    brokers,
  } = await startServers(surroundings, ['service'], log);
  const environment = serviceEnvironment(database, brokers, 'neighbours');
  const { target, processes } = await startService(
    { environment, folder: join(folder, 'service') },
    ['all'],
    resources,
    signal,
  );
  const [loading, patching] = await createNeighbours(environment, target, 2, folder, signal);
  const patcher = await Patcher.open(patching!, resources, signal);
  // Warm up. The JIT of a Kafka broker takes longer.
  await patcher.patchFor(log === 'kafka' ? 15 : 3);
  await settle([database]);
  const idle = await patcher.patchFor(idleSeconds);
  const started = performance.now();
  const load: StashLoad = { stash: 'bulk', chunks: Math.ceil(rows / rowsPerRequest), connections };
  const worker = new Worker(new URL('./stash-load-worker.ts', import.meta.url), {
    workerData: { target: loading, load },
  });
  resources.defer(async () => {
    await worker.terminate();
  });
  let loaded: Loaded | undefined;
  const loadedOnce = once(worker, 'message', { signal }).then(([message]) => {
    loaded = message as Loaded;
  });
  const busy = await patcher.patchWhile(() => loaded === undefined);
  await loadedOnce;
  const seconds = (performance.now() - started) / 1_000;
  console.log(`\n${render(idle, busy)}`);
  console.log(
    `\n${rows.toLocaleString('en')} rows in ${show(seconds)} s, ${show(rows / seconds)} rows/s, the import ${show(loaded!.importing)} s; ` +
      `peak memory ${show(await peakMemoryMiB(processes[0]!.pid))} MiB (goal: < 512)`,
  );
}

function render(before: readonly number[], during: readonly number[]): string {
  const line = (what: string, part: number, goal = ''): string[] => {
    const [one, two] = [quantile(before, part), quantile(during, part)];
    return [what, show(one), show(two), (two / one).toFixed(1), goal];
  };
  return renderTable([
    [`PATCH, ms (${before.length} and ${during.length})`, 'idle', 'during the load', 'ratio', 'goal'],
    line('median', 0.5),
    line('p95', 0.95),
    line('p99', 0.99, '<= 5'),
    line('longest', 1),
  ]);
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
