/**
 * `npm run bench:large-changes`: how long changes of a whole large table take, and the response times of another team's
 * PATCHes in the same partition meanwhile. With `--writes`, the large table is also written to all the time. See
 * README.md.
 */
import { join } from 'node:path';
import { makeRow, seededRandom, customerSchema, rowsPerRequest } from './data.ts';
import { settle, startServers } from './environment.ts';
import { createNeighbours, Patcher, quantile } from './neighbour-teams.ts';
import { logKind, readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { renderTable, show } from './report.ts';
import { caller, type Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService } from './service-processes.ts';

const options = {
  log: logKind,
  rows: wholeNumber(1_000_000, { min: rowsPerRequest }),
  seconds: wholeNumber(10),
  /** How many rows a second another client adds to the large table. */
  writes: wholeNumber(0, { min: 0 }),
};

type Options = OptionsOf<typeof options>;

interface Change {
  readonly what: string;
  readonly query?: string;
  readonly body: object;
}

/** The changes in their order. Every cell of `seats` is a number, and one of `notes` in a thousand is no date. */
const changes: readonly Change[] = [
  { what: 'declare a key', body: { key: ['email'] } },
  { what: 'remove the key', body: { key: null } },
  { what: 'try a type that fits', body: { columns: [{ id: 'company', type: 'number' }] } },
  { what: 'clear misfits', query: '?onMisfit=clear', body: { columns: [{ id: 'website', type: 'number' }] } },
];

async function run({ log, rows, seconds: idleSeconds, writes }: Options, surroundings: Surroundings): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const {
    databases: { service: database },
    brokers,
  } = await startServers(surroundings, ['service'], log);
  const environment = serviceEnvironment(database, brokers, 'large_changes');
  const { target, processes } = await startService(
    { environment, folder: join(folder, 'service') },
    ['all'],
    resources,
    signal,
  );
  const [loading, patching] = await createNeighbours(environment, target, 2, folder, signal);
  const table = await loadTable(loading!, rows);
  const patcher = await Patcher.open(patching!, resources, signal);
  // Warm up. The JIT of a Kafka broker takes longer.
  await patcher.patchFor(log === 'kafka' ? 15 : 3);
  await settle([database]);
  const lines = [line('nothing', idleSeconds, await patcher.patchFor(idleSeconds))];
  const ask = caller(loading!);
  for (const { what, query = '', body } of changes) {
    let isDone = false;
    const start = performance.now();
    const changing = ask('PATCH', `/tables/${table}${query}`, JSON.stringify(body), 'application/json')
      .catch((error: Error) => console.log(`${what}: ${error.message}`))
      .finally(() => {
        isDone = true;
      });
    const writing = write(loading!, table, writes, () => !isDone);
    const times = await patcher.patchWhile(() => !isDone);
    await Promise.all([changing, writing]);
    lines.push(line(what, (performance.now() - start) / 1000, times));
  }
  console.log(`\n${renderTable([['meanwhile', 's', 'PATCHes', 'median, ms', 'p99', 'longest'], ...lines])}`);
  console.log(`\npeak memory ${show(await peakMemoryMiB(processes[0]!.pid))} MiB`);
}

function line(what: string, seconds: number, times: readonly number[]): string[] {
  return [what, show(seconds), String(times.length), ...[0.5, 0.99, 1].map((part) => show(quantile(times, part)))];
}

/** Loads so many rows through a stash. `email` is unique. */
async function loadTable(target: Target, rows: number): Promise<string> {
  const ask = caller(target);
  const random = seededRandom(3);
  const chunk = 10_000;
  for (let first = 0; first < rows; first += chunk) {
    const body = Array.from({ length: Math.min(chunk, rows - first) }, (_, at) => {
      const n = first + at;
      const website = n % 1000 === 0 ? 'none' : String(n);
      return JSON.stringify({ ...makeRow(random), email: `user${n}@example.org`, company: String(n), website });
    });
    await ask('PUT', `/stashes/large/${first / chunk}`, `[${body.join(',')}]`, 'application/json');
  }
  const columns = customerSchema.columns.map(({ id, type }) => ({ id, type: id === 'website' ? 'string' : type }));
  const body = JSON.stringify({ name: 'large', schema: { columns }, rows: { $stashID: 'large' } });
  const { tableID } = await ask('POST', '/tables', body, 'application/json');
  return tableID;
}

let added = 0;

/** Adds so many rows a second to a table, ten at a time. */
async function write(target: Target, table: string, perSecond: number, goesOn: () => boolean): Promise<void> {
  if (perSecond === 0) return;
  const ask = caller(target);
  const random = seededRandom(4);
  const start = performance.now();
  for (let sent = 0; goesOn(); sent += 10) {
    const rows = Array.from({ length: 10 }, () => {
      added += 1;
      // The columns that get other types stay empty.
      const { company: _, website: __, ...row } = makeRow(random);
      return { ...row, email: `added${added}@example.org` };
    });
    await ask('POST', `/tables/${table}/rows`, JSON.stringify(rows), 'application/json');
    const ahead = (sent / perSecond) * 1000 - (performance.now() - start);
    if (ahead > 0) await new Promise((resolve) => setTimeout(resolve, ahead));
  }
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
