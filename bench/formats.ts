/**
 * `npm run bench:formats`: one large CSV body, compared with COPY of the same file into a table of typed columns; and
 * reading rows that need conversion, before and after compaction. See README.md.
 */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import Papa from 'papaparse';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { readModelSchema } from '../projections/models.ts';
import { makeRows, customerSchema, seededRandom } from './data.ts';
import { query, settle, startServers } from './environment.ts';
import { logKind, readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { median, renderTable, show } from './report.ts';
import { caller, type Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { serviceEnvironment, startService, type ServiceSettings } from './service-processes.ts';
import { timed } from './timed.ts';

const options = {
  log: logKind,
  rows: wholeNumber(100_000),
  rounds: wholeNumber(5),
};

type Options = OptionsOf<typeof options>;

/** Seconds of each round. */
interface Times {
  copying: number[];
  creating: number[];
  overwriting: number[];
  /**
   * Reading all pages of a table that needs no conversion, and of a table with a widened column; then both after
   * compaction.
   */
  reading: number[];
  converting: number[];
  readingThen: number[];
  compacted: number[];
}

const pageRows = 1_000;
const never = String(2 ** 31 - 1);

async function run({ log, rows, rounds }: Options, surroundings: Surroundings): Promise<void> {
  const { folder, signal } = surroundings;
  const { databases, brokers } = await startServers(surroundings, ['copy', 'service'], log);
  const csv = Papa.unparse(makeRows(seededRandom(1), rows), { newline: '\n' });
  const settings = (maintenanceMs: string): ServiceSettings => ({
    environment: {
      ...serviceEnvironment(databases.service, brokers, 'formats'),
      BODY_SIZE_MAX_BYTES: String(2 ** 30),
      MAINTENANCE_INTERVAL_MS: maintenanceMs,
    },
    folder: join(folder, 'service'),
  });
  const times: Times = {
    copying: [],
    creating: [],
    overwriting: [],
    reading: [],
    converting: [],
    readingThen: [],
    compacted: [],
  };
  let tables: { plain: string; widened: string };
  let memory: number | undefined;
  {
    await using service = new AsyncDisposableStack();
    const { target, processes } = await startService(settings(never), ['all'], service, signal);
    for (let round = 0; round <= rounds; round += 1) {
      // The first round warms up.
      await measureBodies(target, databases, csv, round === 0 ? null : times, signal);
    }
    tables = await createTables(target, csv);
    await settle([databases.service]);
    [times.reading, times.converting] = await measurePages(target, tables, rows, rounds);
    memory = await peakMemoryMiB(processes[0]!.pid);
  }
  await using service = new AsyncDisposableStack();
  const { target } = await startService(settings('50'), ['all'], service, signal);
  await untilCompacted(databases.service, signal);
  await settle([databases.service]);
  [times.readingThen, times.compacted] = await measurePages(target, tables, rows, rounds);
  console.log(`\n${render(times, rows, csv)}\n\npeak memory of the service: ${show(memory)} MiB`);
}

/** A round of COPY, create and overwrite. `times` null: the round is not counted. */
async function measureBodies(
  target: Target,
  databases: { copy: string; service: string },
  csv: string,
  times: Times | null,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const call = caller(target);
  const copy = await timed(() => copyCsv(databases.copy, csv, signal));
  const create = await timed(async () => (await call('POST', '/tables?name=csv', csv)).tableID);
  const id = create.result;
  const overwrite = await timed(() => call('PUT', `/tables/${id}`, csv));
  await call('DELETE', `/tables/${id}`);
  await settle([databases.service]);
  if (times === null) return;
  times.copying.push(copy.seconds);
  times.creating.push(create.seconds);
  times.overwriting.push(overwrite.seconds);
}

/** Creates two tables from the file; in one of them, the column `seats` is widened afterwards. */
async function createTables(target: Target, csv: string): Promise<{ plain: string; widened: string }> {
  const call = caller(target);
  const { tableID: plain } = await call('POST', '/tables?name=plain', csv);
  const { tableID: widened } = await call('POST', '/tables?name=widened', csv);
  const row = JSON.stringify([{ seats: 'many' }]);
  await call('POST', `/tables/${widened}/rows?onSchemaError=updateSchema`, row, 'application/json');
  return { plain, widened };
}

/** Reads both tables in turn. The first round warms up. */
async function measurePages(
  target: Target,
  { plain, widened }: { plain: string; widened: string },
  rows: number,
  rounds: number,
): Promise<[plain: number[], widened: number[]]> {
  const times: [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round += 1) {
    const seconds = [await readPages(target, plain, rows), await readPages(target, widened, rows + 1)] as const;
    if (round === 0) continue;
    times[0].push(seconds[0]);
    times[1].push(seconds[1]);
  }
  return times;
}

function render(
  { copying, creating, overwriting, reading, converting, readingThen, compacted }: Times,
  rows: number,
  csv: string,
): string {
  const line = (what: string, seconds: readonly number[], beside: readonly number[], goal = ''): string[] => [
    what,
    show(median(seconds)),
    show(rows / median(seconds)),
    (median(beside) / median(seconds)).toFixed(2),
    goal,
  ];
  const bodies = renderTable([
    [
      `${rows.toLocaleString('en')} rows, ${(csv.length / 1e6).toFixed(1)} MB of CSV`,
      'seconds',
      'rows/s',
      'of COPY',
      'goal',
    ],
    line('COPY into typed columns', copying, copying),
    line('create from one body', creating, copying, '>= 0.25'),
    line('overwrite with one body', overwriting, copying),
  ]);
  const pages = renderTable([
    ['pages of 1,000, one connection', 'seconds', 'rows/s', 'of plain', 'goal'],
    line('plain', reading, reading),
    line('a column was widened', converting, reading, '>= 0.5'),
    line('plain, after compaction', readingThen, readingThen),
    line('the widened one, after compaction', compacted, readingThen, '1'),
  ]);
  return `${bodies}\n\n${pages}`;
}

/** Reads a whole table; resolves to the seconds taken. Rejects if the number of rows is wrong. */
async function readPages({ ports, token }: Target, id: string, rows: number): Promise<number> {
  const { result: found, seconds } = await timed(async () => {
    let count = 0;
    let continuation = '';
    do {
      const url = `http://127.0.0.1:${ports[0]}/tables/${id}/rows?limit=${pageRows}${continuation}`;
      const text = await (await fetch(url, { headers: { authorization: `Bearer ${token}` } })).text();
      count += text.split('"$rowID":').length - 1;
      // Do not parse the rows: parsing would take as long as serving them.
      const next = /"continuation":"([^"]+)"\}$/.exec(text.slice(-200));
      continuation = next === null ? '' : `&continuation=${next[1]}`;
    } while (continuation !== '');
    return count;
  });
  if (found !== rows) throw new Error(`${found} rows were read, not ${rows}`);
  return seconds;
}

/** Copies the file into a new table of typed columns. */
async function copyCsv(databaseUrl: string, csv: string, signal: AbortSignal): Promise<void> {
  const types = { number: 'numeric', boolean: 'boolean', date: 'date' } as const;
  const columns = customerSchema.columns.map(
    ({ id, type }) => `"${id}" ${type in types ? types[type as keyof typeof types] : 'text'}`,
  );
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query(`drop table if exists copied; create table copied (${columns.join(', ')})`);
    await pipeline(Readable.from([csv]), client.query(copyFrom('copy copied from stdin (format csv, header)')), {
      signal,
    });
  } finally {
    await client.end();
  }
}

async function untilCompacted(databaseUrl: string, signal: AbortSignal): Promise<void> {
  const left = `select count(*)::int as count from ${readModelSchema}.extents join ${readModelSchema}.tables
    on tables.id = extents.table_id and tables.generation = extents.generation and not tables.deleted
    where (extents.presented is null or extents.presented < tables.widened)
    and tables.tail is distinct from extents.key`;
  while ((await query<{ count: number }>(databaseUrl, left))[0]!.count > 0) {
    signal.throwIfAborted();
    await sleep(100);
  }
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
