/**
 * How fast the log is replayed and verified, compared with two lower bounds: only reading the log, and copying as many rows into the
 * same Postgres.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { newLogger } from '../src/cli/console.ts';
import { readConfig } from '../src/app/config.ts';
import { openRecordLog } from '../src/app/open-log.ts';
import { freePort } from '../test/support/server.ts';
import { startClient } from './client-process.ts';
import { makeRows, rowsPerRequest, seededRandom } from './data.ts';
import { query, settle } from './environment.ts';
import { runScript } from './processes.ts';
import { median } from './report.ts';
import type { Target } from './requests.ts';
import { startService, tablog, type ServiceSettings } from './service-processes.ts';

const loadConnections = 8;
const patches = 100_000;
const patchConnections = 32;

export interface ReplayOptions {
  /** How many rows are loaded: a multiple of `rowsPerRequest`. */
  rows: number;
  settings: ServiceSettings;
  databaseUrl: string;
}

export interface ReplayTimes {
  /** What the log holds in the end: its events, and the rows added and patched by them. */
  readonly events: number;
  readonly rows: number;
  readonly patches: number;
  /** In seconds. The first three are of the log before the patches. */
  readonly reading: number;
  readonly copying: number;
  readonly replayOfRows: number;
  readonly replay: number;
  readonly verify: number;
}

/** How often each replay is timed, and COPY before each; the median counts. */
const rounds = 3;

/** Fills a log, stops the service, and times the work on the log. Rejects if a result does not match what was loaded. */
export async function measureReplay(
  { rows, settings: ofAnyPort, databaseUrl }: ReplayOptions, signal: AbortSignal,
): Promise<ReplayTimes> {
  // The client knows the rows by the port of their service.
  const settings = { ...ofAnyPort, port: await freePort() };
  const { environment } = settings;
  const time = async <T>(what: string, work: () => Promise<T>): Promise<{ result: T; seconds: number }> => {
    await settle([databaseUrl]);
    const start = performance.now();
    const result = await work();
    const seconds = (performance.now() - start) / 1_000;
    console.error(`${what}: ${seconds.toFixed(2)} s`);
    return { result, seconds };
  };
  const tablogJson = async (command: string): Promise<Record<string, unknown>> => {
    return JSON.parse(await runScript([tablog, command, '--json'], environment, signal)) as Record<string, unknown>;
  };
  const timeReplay = async (what: string, events: number): Promise<number> => {
    const replayed = await time(what, () => tablogJson('replay'));
    expectEqual('events replayed', replayed.result['events'], events);
    return replayed.seconds;
  };
  const timeCopy = async (): Promise<number> => {
    const { seconds } = await time('COPY', () => copyRows(databaseUrl, rows, signal));
    await query(databaseUrl, 'drop table copied');
    return seconds;
  };

  await using resources = new AsyncDisposableStack();
  const ask = startClient(resources, signal);
  await withService(settings, signal, (target) => ask({ do: 'load', target, rows, connections: loadConnections }));
  // The first reading warms up the log's caches.
  const eventsOfRows = await readLog(settings, databaseUrl, signal);
  const reading = await time('reading', () => readLog(settings, databaseUrl, signal));
  // In turn, because the machine may be faster at one time than at another.
  const copying: number[] = [];
  const replayOfRows: number[] = [];
  const replay: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    copying.push(await timeCopy());
    replayOfRows.push(await timeReplay('replay of the rows', eventsOfRows));
  }

  await withService(settings, signal, (target) => ask({ do: 'patch', target, rows: patches, connections: patchConnections }));
  const events = await readLog(settings, databaseUrl, signal);
  for (let round = 0; round < rounds; round += 1) {
    copying.push(await timeCopy());
    replay.push(await timeReplay('replay of rows and patches', events));
  }
  const verify = await time('verify', () => tablogJson('verify'));
  expectEqual('events verified', verify.result['events'], events);
  expectEqual('rows verified', verify.result['rows'], rows);
  return { events, rows, patches, reading: reading.seconds, copying: median(copying), replayOfRows: median(replayOfRows), replay: median(replay), verify: verify.seconds };
}

/** Runs a service, and stops it again. */
async function withService(settings: ServiceSettings, signal: AbortSignal, use: (target: Target) => Promise<unknown>): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const { processes, target } = await startService(settings, ['all'], resources, signal);
  await use(target);
  for (const process of processes) await process.end('SIGTERM');
}

/** Reads every record of every partition and ignores its content; resolves to their number. */
export async function readLog({ environment }: ServiceSettings, databaseUrl: string, signal: AbortSignal): Promise<number> {
  const log = await openRecordLog(readConfig(environment), databaseUrl, newLogger());
  try {
    let events = 0;
    for (let partition = 0; partition < log.partitions; partition++) {
      const { start, end } = await log.bounds(partition);
      for await (const records of log.read(partition, start, end)) {
        signal.throwIfAborted();
        events += records.length;
      }
    }
    return events;
  } finally {
    await log.close();
  }
}

/** Copies `count` rows as text with a key into the table `copied`, in one commit. Texts repeat; keys do not. */
async function copyRows(databaseUrl: string, count: number, signal: AbortSignal): Promise<void> {
  const texts = makeRows(seededRandom(1), rowsPerRequest).map((row) => JSON.stringify(row).replaceAll('\\', '\\\\'));
  function* lines(): Generator<string> {
    for (let first = 0; first < count; first += texts.length) {
      const block = texts.slice(0, count - first);
      yield block.map((text, index) => `${first + index}\t${text}\n`).join('');
    }
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('create table copied (key bigint primary key, row text not null)');
    await pipeline(Readable.from(lines()), client.query(copyFrom('copy copied from stdin')), { signal });
  } finally {
    await client.end();
  }
}

function expectEqual(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: ${String(found)} in place of ${String(expected)}`);
}
