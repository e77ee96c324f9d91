/**
 * `npm run bench:neighbours`: the response times of one team's PATCHes while another team in the same partition uploads and imports
 * millions of rows. See README.md.
 */
import { randomUUIDv7 } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { createTeam, createToken } from '../commands/teams.ts';
import { hashToken } from '../projections/teams/teams.queries.ts';
import { newAccessToken } from '../src/security/access-token.ts';
import { readConfig } from '../src/app/config.ts';
import { partitionOf } from '../src/log/partition.ts';
import { recordFact } from '../src/log/record-fact.ts';
import { openService, type Service } from '../src/app/service.ts';
import { Connection } from './connection.ts';
import { makeRows, rowsPerRequest, seededRandom } from './data.ts';
import { createDatabase, describeEnvironment, renderFacts, settle, startKafka, startPostgres } from './environment.ts';
import { readLogKind, readWholeNumber, type LogKind } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { renderTable, show } from './report.ts';
import { createTable, expectStatus, head, withBody, type Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService } from './service-processes.ts';
import type { Loaded, StashLoad } from './stash-load.ts';

interface Options {
  log: LogKind;
  rows: number;
  idleSeconds: number;
  connections: number;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      log: { type: 'string', default: 'postgres' },
      rows: { type: 'string', default: '3000000' },
      seconds: { type: 'string', default: '15' },
      connections: { type: 'string', default: '8' },
    },
  });
  return {
    log: readLogKind(values.log), rows: readWholeNumber('--rows', values.rows, rowsPerRequest),
    idleSeconds: readWholeNumber('--seconds', values.seconds, 1), connections: readWholeNumber('--connections', values.connections, 1),
  };
}

async function run({ log, rows, idleSeconds, connections }: Options, { folder, resources, signal }: Surroundings): Promise<void> {
  const postgresUrl = await startPostgres(join(folder, 'postgres'), resources);
  const database = await createDatabase(postgresUrl, 'service', resources);
  const kafka = log === 'kafka' ? await startKafka(resources) : undefined;
  console.log(renderFacts([...await describeEnvironment({ service: database }), kafka?.fact ?? { what: 'log', value: 'in Postgres' }]));
  const environment = serviceEnvironment(database, kafka?.brokers, 'neighbours');
  const { target, processes } = await startService({ environment, folder: join(folder, 'service') }, ['all'], resources, signal);
  const [loading, patching] = await createNeighbours(environment, target, folder, signal);

  const connection = await Connection.open(patching.ports[0]!);
  resources.defer(() => connection.close());
  const table = await createTable(connection, patching, makeRows(seededRandom(2), 100));
  const patch = patcher(connection, patching, table);
  const patchFor = async (goesOn: () => boolean): Promise<number[]> => {
    const times: number[] = [];
    while (goesOn()) {
      signal.throwIfAborted();
      times.push(await patch());
    }
    return times;
  };
  const forSeconds = (seconds: number): Promise<number[]> => {
    const end = performance.now() + seconds * 1_000;
    return patchFor(() => performance.now() < end);
  };
  // Warms up; the JIT of a Kafka broker takes longer.
  await forSeconds(log === 'kafka' ? 15 : 3);
  await settle([database]);
  const idle = await forSeconds(idleSeconds);
  const started = performance.now();
  const load: StashLoad = { stash: 'bulk', chunks: Math.ceil(rows / rowsPerRequest), connections };
  const worker = new Worker(new URL('./stash-load-worker.ts', import.meta.url), { workerData: { target: loading, load } });
  resources.defer(async () => { await worker.terminate(); });
  let loaded: Loaded | undefined;
  const loadedOnce = once(worker, 'message', { signal }).then(([message]) => { loaded = message as Loaded; });
  const busy = await patchFor(() => loaded === undefined);
  await loadedOnce;
  const seconds = (performance.now() - started) / 1_000;
  console.log(`\n${render(idle, busy)}`);
  console.log(`\n${rows.toLocaleString('en')} rows in ${show(seconds)} s, ${show(rows / seconds)} rows/s, the import ${show(loaded!.importing)} s; `
    + `peak memory ${show(await peakMemoryMiB(processes[0]!.pid))} MiB (goal: < 512)`);
}

/** Creates two teams in the same partition. */
async function createNeighbours(
  environment: Record<string, string>, { ports }: Target, folder: string, signal: AbortSignal,
): Promise<[Target, Target]> {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const service = await openService(readConfig({ ...given, DATA_DIR: folder }), pino({ level: 'silent' }), signal, { projects: false });
  try {
    await service.log.caughtUp();
    const first = randomUUIDv7();
    let second = randomUUIDv7();
    while (partitionOf(second, service.log.partitions) !== partitionOf(first, service.log.partitions)) second = randomUUIDv7();
    return [{ ports, token: await recordTeam(service, first) }, { ports, token: await recordTeam(service, second) }];
  } finally {
    await service.close();
  }
}

/** Creates a team; resolves to a token of it. */
async function recordTeam({ log }: Service, id: string): Promise<string> {
  const token = newAccessToken();
  await recordFact(log, createTeam(id, 'bench'));
  await recordFact(log, createToken(id, randomUUIDv7(), 'bench', hashToken(token)));
  return token;
}

/** Patches one row after the other; each call resolves to the milliseconds taken. */
function patcher(connection: Connection, target: Target, { path, rowIDs }: { path: string; rowIDs: readonly string[] }): () => Promise<number> {
  let patches = 0;
  return async () => {
    const row = rowIDs[patches % rowIDs.length]!;
    const body = Buffer.from(`{"seats":${patches += 1}}`);
    const start = performance.now();
    expectStatus(200, await connection.send(withBody(head(target, 'PATCH', `${path}/rows/${row}`), body)));
    return performance.now() - start;
  };
}

function render(idle: readonly number[], busy: readonly number[]): string {
  const [before, during] = [idle.toSorted((a, b) => a - b), busy.toSorted((a, b) => a - b)];
  const at = (sorted: readonly number[], part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
  const line = (what: string, part: number, goal = ''): string[] => {
    const [one, two] = [at(before, part), at(during, part)];
    return [what, show(one), show(two), (two / one).toFixed(1), goal];
  };
  return renderTable([
    [`PATCH, ms (${before.length} and ${during.length})`, 'idle', 'during the load', 'ratio', 'goal'],
    line('median', 0.5), line('p95', 0.95), line('p99', 0.99, '<= 5'), line('longest', 1),
  ]);
}

await runToEnd(async (surroundings) => run(readOptions(), surroundings));
