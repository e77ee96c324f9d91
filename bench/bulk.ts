/**
 * `npm run bench:bulk`: rows uploaded as chunks of a stash and imported in one step, compared with the yardstick and
 * with COPY of the same rows into a table of one text column. See README.md.
 */
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { join } from 'node:path';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { Connection } from './connection.ts';
import { rowsPerRequest } from './data.ts';
import { query, settle, startServers } from './environment.ts';
import { logKind, path, readOptions, wholeNumber, type LogKind, type OptionsOf } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { readTable } from './read-table.ts';
import { median, renderTable, show, showRatio } from './report.ts';
import { expectStatus, head, type Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService } from './service-processes.ts';
import { loadStash, makeChunkBodies, type StashLoad } from './stash-load.ts';
import { timed } from './timed.ts';
import { startYardstick } from './yardstick-process.ts';

const options = {
  log: logKind,
  rows: wholeNumber(100_000, { min: rowsPerRequest }),
  rounds: wholeNumber(5),
  connections: wholeNumber(8),
  /** The folder for CPU profiles. */
  profile: path,
};

type Options = OptionsOf<typeof options>;

/**
 * The seconds of a round: from the first upload until the last row can be read; of the import; of its answer; and of
 * reading all rows back.
 */
interface Times {
  whole: number;
  importing: number;
  answering: number;
  reading: number;
}

interface Side {
  readonly name: string;
  readonly target: Target;
  /** Whether requests remove the loaded data. */
  readonly removes: boolean;
  readonly times: Times[];
}

async function run(
  { log, rows, rounds, connections, profile: profileFolder }: Options,
  surroundings: Surroundings,
): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const { databases, brokers } = await startServers(surroundings, ['copy', 'yardstick', 'service'], log);
  const yardstick = await startYardstick(databases.yardstick, join(folder, 'yardstick.log'), resources, signal);
  const service = await startService(
    {
      environment: serviceEnvironment(databases.service, brokers, 'bulk'),
      folder: join(folder, 'service'),
      profileFolder,
    },
    ['all'],
    resources,
    signal,
  );
  const sides: Side[] = [
    { name: 'yardstick', target: yardstick.target, removes: false, times: [] },
    { name: 'service', target: service.target, removes: true, times: [] },
  ];
  const bodies = makeChunkBodies();
  const chunks = Math.ceil(rows / rowsPerRequest);
  const copying: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    signal.throwIfAborted();
    // The first round warms up, with at most 100 chunks.
    const isWarmUp = round === 0;
    const count = isWarmUp ? Math.min(chunks, 100) : chunks;
    const seconds = await timed(() => copyRows(databases.copy, bodies, count, signal));
    if (!isWarmUp) copying.push(seconds.seconds);
    for (const { target, removes, times } of round % 2 === 0 ? sides : sides.toReversed()) {
      const measured = await measure(
        target,
        bodies,
        { stash: `bulk-${round}`, chunks: count, connections, removes },
        signal,
      );
      if (!isWarmUp) times.push(measured);
    }
    await query(databases.yardstick, 'truncate rws, stash');
    await query(databases.copy, 'drop table copied');
    await settle(Object.values(databases));
  }
  const memory = {
    yardstick: await peakMemoryMiB(yardstick.processes[0]!.pid),
    service: await peakMemoryMiB(service.processes[0]!.pid),
  };
  console.log(`\n${render(sides, copying, chunks * rowsPerRequest, log)}`);
  console.log(
    `\npeak memory: yardstick ${show(memory.yardstick)} MiB, service ${show(memory.service)} MiB (goal: < 512)`,
  );
}

/** Uploads, imports into a new table, reads its last row and then all rows, and removes table and stash. */
async function measure(
  target: Target,
  bodies: readonly Buffer[],
  { removes, ...load }: StashLoad & { removes: boolean },
  signal: AbortSignal,
): Promise<Times> {
  const { stash, chunks } = load;
  const start = performance.now();
  const { tableID, lastID, importing, answering } = await loadStash(target, bodies, load, signal);
  const connection = await Connection.open(target.ports[0]!);
  try {
    expectStatus(200, await connection.send(`${head(target, 'GET', `/tables/${tableID}/rows/${lastID}`)}\r\n`));
    const whole = (performance.now() - start) / 1_000;
    const { seconds: reading, result: found } = await timed(() => readTable(connection, target, tableID));
    if (found !== chunks * rowsPerRequest) throw new Error(`${found} rows were read, not ${chunks * rowsPerRequest}`);
    // The yardstick's data is removed differently.
    for (const path of removes ? [`/tables/${tableID}`, `/stashes/${stash}`] : []) {
      expectStatus(200, await connection.send(`${head(target, 'DELETE', path)}\r\n`));
    }
    return { whole, importing, answering, reading };
  } finally {
    connection.close();
  }
}

/** Copies the rows as texts into a new table, whose key is table and row. */
async function copyRows(
  databaseUrl: string,
  bodies: readonly Buffer[],
  chunks: number,
  signal: AbortSignal,
): Promise<void> {
  const texts = bodies.map((body) =>
    (JSON.parse(body.toString()) as object[]).map((row) => JSON.stringify(row).replaceAll('\\', '\\\\')),
  );
  function* lines(): Generator<string> {
    for (let chunk = 0; chunk < chunks; chunk += 1) {
      yield texts[chunk % texts.length]!.map((text, row) => `1\t${chunk * rowsPerRequest + row}\t${text}\n`).join('');
    }
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(
      'create table copied (table_id bigint, row_id bigint, body text, primary key (table_id, row_id))',
    );
    await pipeline(Readable.from(lines()), client.query(copyFrom('copy copied from stdin')), { signal });
  } finally {
    await client.end();
  }
}

function render([yardstick, service]: readonly Side[], copying: readonly number[], rows: number, log: LogKind): string {
  const line = (what: string, of: (times: Times) => number, goal: string): string[] => {
    const [theirs, ours] = [yardstick!.times.map(of), service!.times.map(of)];
    return [
      what,
      show(median(theirs)),
      show(median(ours)),
      show(rows / median(ours)),
      ...showRatio(theirs, ours),
      goal,
    ];
  };
  const lines = [
    [`${rows.toLocaleString('en')} rows`, 'yardstick, s', 'service, s', 'rows/s', 'ratio', 'rounds', 'goal'],
    line('first upload to last row readable', ({ whole }) => whole, log === 'kafka' ? '>= 0.9' : '>= 1.3'),
    line('the import in it', ({ importing }) => importing, rows <= 1_000_000 ? '< 0.1 s' : ''),
    line('the same with the row IDs', ({ answering }) => answering, ''),
    line('reading all, pages of 10,000', ({ reading }) => reading, '>= 1.1'),
  ];
  const whole = median(service!.times.map((times) => times.whole));
  return (
    `${renderTable(lines)}\n\nCOPY of the same rows as text: ${show(median(copying))} s, ${show(rows / median(copying))} rows/s; ` +
    `the service has ${(median(copying) / whole).toFixed(2)} of its speed`
  );
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
