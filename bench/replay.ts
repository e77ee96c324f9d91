/**
 * The speed of replaying and verifying the log, compared with two lower bounds of their time: only reading the log, and
 * copying as many rows into the same Postgres.
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
import { median } from './report.ts';
import { startService, tablog, type ServiceSettings } from './service-processes.ts';

const loadConnections = 8;
const patches = 100_000;
const patchConnections = 32;

/** A service with its own log and database. */
export interface Side {
  settings: ServiceSettings;
  databaseUrl: string;
}

export interface ReplayOptions {
  /** How many rows are loaded into each log: a multiple of `rowsPerRequest`. */
  rows: number;
  /** The side whose log gets only the rows. */
  ofRows: Side;
  /** The side whose log gets the rows, and then the patches. */
  ofPatches: Side;
}

export interface ReplayTimes {
  /** The numbers of events, rows and patches in the log with the patches. */
  readonly events: number;
  readonly rows: number;
  readonly patches: number;
  /** Times in seconds. `reading` and `replayOfRows` are for the log with only the rows. */
  readonly reading: number;
  readonly copying: number;
  readonly replayOfRows: number;
  readonly replay: number;
  readonly verify: number;
}

/** How often each replay, and COPY before it, is timed. The median counts. */
const rounds = 3;

/**
 * Fills two logs, stops their services, and times the work on the logs. COPY and both replays take turns, because the
 * machine may be faster at one time than at another. Rejects if a result does not match what was loaded.
 */
export async function measureReplay(
  { rows, ofRows, ofPatches }: ReplayOptions,
  signal: AbortSignal,
): Promise<ReplayTimes> {
  const time = async <T>(what: string, work: () => Promise<T>): Promise<{ result: T; seconds: number }> => {
    await settle([ofRows.databaseUrl, ofPatches.databaseUrl]);
    const start = performance.now();
    const result = await work();
    const seconds = (performance.now() - start) / 1_000;
    console.error(`${what}: ${seconds.toFixed(2)} s`);
    return { result, seconds };
  };
  const tablogJson = async ({ settings }: Side, command: string): Promise<Record<string, unknown>> => {
    return JSON.parse(await runScript([tablog, command, '--json'], settings.environment, signal)) as Record<
      string,
      unknown
    >;
  };
  const timeReplay = async (side: Side, what: string, events: number): Promise<number> => {
    const replayed = await time(what, () => tablogJson(side, 'replay'));
    expectEqual('events replayed', replayed.result['events'], events);
    return replayed.seconds;
  };
  const timeCopy = async (): Promise<number> => {
    const { seconds } = await time('COPY', () => copyRows(ofRows.databaseUrl, rows, signal));
    await query(ofRows.databaseUrl, 'drop table copied');
    return seconds;
  };

  await fillLog(ofRows, { rows, patches: 0 }, signal);
  await fillLog(ofPatches, { rows, patches }, signal);
  // The first reading warms up caches.
  const eventsOfRows = await readLog(ofRows.settings, ofRows.databaseUrl, signal);
  const events = await readLog(ofPatches.settings, ofPatches.databaseUrl, signal);
  const reading = await time('reading', () => readLog(ofRows.settings, ofRows.databaseUrl, signal));
  const copying: number[] = [];
  const replayOfRows: number[] = [];
  const replay: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    copying.push(await timeCopy());
    replayOfRows.push(await timeReplay(ofRows, 'replay of the rows', eventsOfRows));
    replay.push(await timeReplay(ofPatches, 'replay of rows and patches', events));
  }
  const verify = await time('verify', () => tablogJson(ofPatches, 'verify'));
  expectEqual('events verified', verify.result['events'], events);
  expectEqual('rows verified', verify.result['rows'], rows);
  return {
    events,
    rows,
    patches,
    reading: reading.seconds,
    copying: median(copying),
    replayOfRows: median(replayOfRows),
    replay: median(replay),
    verify: verify.seconds,
  };
}

/** Loads rows and patches through a service, and then stops it. */
async function fillLog(
  { settings }: Side,
  counts: { rows: number; patches: number },
  signal: AbortSignal,
): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const ask = startClient(resources, signal);
  const { processes, target } = await startService(settings, ['all'], resources, signal);
  await ask({ do: 'load', target, rows: counts.rows, connections: loadConnections });
  if (counts.patches > 0) await ask({ do: 'patch', target, rows: counts.patches, connections: patchConnections });
  for (const process of processes) await process.end('SIGTERM');
}

/** Reads all records without decoding them; resolves to their number. */
export async function readLog(
  { environment }: ServiceSettings,
  databaseUrl: string,
  signal: AbortSignal,
): Promise<number> {
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
