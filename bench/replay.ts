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
import { startClient } from './client-process.ts';
import { makeRows, rowsPerRequest, seededRandom } from './data.ts';
import { query, settle } from './environment.ts';
import { runScript } from './processes.ts';
import { startService, tablog, type ServiceSettings } from './service-processes.ts';

const loadConnections = 8;
const patches = 20_000;
const patchConnections = 32;

export interface ReplayOptions {
  /** How many rows are loaded: a multiple of `rowsPerRequest`. */
  rows: number;
  settings: ServiceSettings;
  databaseUrl: string;
}

export interface ReplayTimes {
  /** The content of the log: its events, and the rows added and patched by them. */
  events: number;
  rows: number;
  /** In seconds. */
  reading: number;
  copying: number;
  replay: number;
  verify: number;
}

/** Fills a log, stops the service, and times the work on the log. Rejects if a result does not match what was loaded. */
export async function measureReplay(
  { rows, settings, databaseUrl }: ReplayOptions, signal: AbortSignal,
): Promise<ReplayTimes> {
  await fillLog(rows, settings, signal);
  const { environment } = settings;
  const rowsInLog = rows + patches;
  // The first reading warms up the log's caches.
  const events = await readLog(settings, databaseUrl, signal);
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
  const reading = await time('reading', () => readLog(settings, databaseUrl, signal));
  const copying = await time('COPY', () => copyRows(databaseUrl, rowsInLog, signal));
  await query(databaseUrl, 'drop table copied');
  const replay = await time('replay', () => tablogJson('replay'));
  const verify = await time('verify', () => tablogJson('verify'));
  expectEqual('events replayed', replay.result['events'], events);
  expectEqual('events verified', verify.result['events'], events);
  expectEqual('rows verified', verify.result['rows'], rows);
  return {
    events, rows: rowsInLog, reading: reading.seconds, copying: copying.seconds, replay: replay.seconds,
    verify: verify.seconds,
  };
}

/** Loads and patches rows through a service, and stops the service again. */
async function fillLog(rows: number, settings: ServiceSettings, signal: AbortSignal): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const { processes, target } = await startService(settings, ['all'], resources, signal);
  const ask = startClient(resources, signal);
  await ask({ do: 'load', target, rows, connections: loadConnections });
  await ask({ do: 'patch', target, rows: patches, connections: patchConnections });
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
