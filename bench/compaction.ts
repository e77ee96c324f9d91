/**
 * `npm run bench:compaction`: how much the compaction of one table slows down writes to another table of the same team,
 * whose events are in the same partition. See README.md.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { join } from 'node:path';
import Papa from 'papaparse';
import pg from 'pg';
import { readModelSchema } from '../projections/models.ts';
import { advisoryLocks } from '../src/storage/database/advisory-locks.ts';
import type { Timing } from './client.ts';
import { startClient } from './client-process.ts';
import { makeRows, seededRandom } from './data.ts';
import { query, settle, startServers } from './environment.ts';
import { flag, logKind, readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { median, renderTable, show, showRatio } from './report.ts';
import { caller, type Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { makeProfileFolder, serviceEnvironment, startService } from './service-processes.ts';

const options = {
  log: logKind,
  /** The number of rows in the compacted table. */
  rows: wholeNumber(400_000),
  rounds: wholeNumber(8),
  seconds: wholeNumber(2),
  profile: flag,
};

type Options = OptionsOf<typeof options>;

/** Whether the other table is being compacted during the measurement. */
type Side = 'quiet' | 'compacting';

/** The results of the rounds with one number of connections. */
type Timings = Record<Side, Timing[]>;

const connectionCounts = [1, 8];
const rowsOfBody = 100_000;
/** The number of rows in the table that is written to. */
const rowsPatched = 20_000;

async function run({ log, rows, rounds, seconds, profile }: Options, surroundings: Surroundings): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const {
    databases: { service: database },
    brokers,
  } = await startServers(surroundings, ['service'], log);
  const { target } = await startService(
    {
      environment: {
        ...serviceEnvironment(database, brokers, 'compaction'),
        BODY_SIZE_MAX_BYTES: String(2 ** 30),
        MAINTENANCE_INTERVAL_MS: '50',
      },
      folder: join(folder, 'service'),
      profileFolder: profile ? await makeProfileFolder() : undefined,
    },
    ['all'],
    resources,
    signal,
  );
  const ask = startClient(resources, signal);
  await ask({ do: 'load', target, rows: rowsPatched, connections: 1 });
  const csv = Papa.unparse(makeRows(seededRandom(1), Math.min(rowsOfBody, rows)), { newline: '\n' });
  const timings = new Map(connectionCounts.map((count): [number, Timings] => [count, { quiet: [], compacting: [] }]));

  for (let round = 0; round <= rounds; round += 1) {
    const measure = async (side: Side): Promise<void> => {
      for (const connections of connectionCounts) {
        const measurement = { name: 'patch', label: '', workload: 'patch', connections, unit: 'requests/s' } as const;
        const measured = await ask({ do: 'measure', target, measurement, seconds, seed: round });
        // The first round warms up.
        if (round > 0) timings.get(connections)![side].push(measured!.timing);
      }
    };
    const call = caller(target);
    const release = await holdMaintenance(database);
    try {
      const table = await fillTable(target, csv, rows);
      await settle([database]);
      if (round % 2 === 0) await measure('quiet');
      await release();
      await untilItBegan(database, signal);
      await measure('compacting');
      if ((await countUncompacted(database)) === 0)
        throw new Error('compaction ended too soon: take more --rows or fewer --seconds');
      await call('DELETE', `/tables/${table}`);
    } finally {
      await release();
    }
    // Nothing is left to compact; taking the lock waits until maintenance is idle.
    await (
      await holdMaintenance(database)
    )();
    if (round % 2 === 1) await measure('quiet');
  }
  console.log(`\n${render(timings)}`);
}

/** Creates a table of CSV rows that all need conversion, because a column was widened after them; returns its ID. */
async function fillTable(target: Target, csv: string, rows: number): Promise<string> {
  const call = caller(target);
  const { tableID } = await call('POST', '/tables?name=csv', csv);
  for (let added = rowsOfBody; added < rows; added += rowsOfBody) await call('POST', `/tables/${tableID}/rows`, csv);
  await call(
    'POST',
    `/tables/${tableID}/rows?onSchemaError=updateSchema`,
    JSON.stringify([{ seats: 'many' }]),
    'application/json',
  );
  return tableID;
}

/** Keeps the service from compacting until the returned function is called. */
async function holdMaintenance(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('select pg_advisory_lock($1, hashtext($2))', [advisoryLocks.maintenance, readModelSchema]);
  let isHeld = true;
  return async () => {
    if (isHeld) await client.end();
    isHeld = false;
  };
}

async function countUncompacted(databaseUrl: string): Promise<number> {
  const [left] = await query<{ count: number }>(
    databaseUrl,
    `select count(*)::int as count from ${readModelSchema}.extents
    join ${readModelSchema}.tables on tables.id = extents.table_id and tables.generation = extents.generation
    and not tables.deleted
    where (extents.presented is null or extents.presented < tables.widened)
    and tables.tail is distinct from extents.key`,
  );
  return left!.count;
}

/** Resolves when compaction has converted something. */
async function untilItBegan(databaseUrl: string, signal: AbortSignal): Promise<void> {
  const before = await countUncompacted(databaseUrl);
  while ((await countUncompacted(databaseUrl)) === before) {
    signal.throwIfAborted();
    await sleep(20);
  }
}

function render(timings: ReadonlyMap<number, Timings>): string {
  const lines = [...timings].flatMap(([connections, { quiet, compacting }]) => {
    const of = connections === 1 ? 'alone' : `${connections} connections`;
    return (
      [
        ['ms p50', 'p50'],
        ['ms p99', 'p99'],
        ['requests/s', 'rate'],
      ] as const
    ).map(([unit, key]) => {
      const [before, during] = [quiet.map((timing) => timing[key]), compacting.map((timing) => timing[key])];
      return [`PATCH row, ${of}`, unit, show(median(before)), show(median(during)), ...showRatio(during, before)];
    });
  });
  return renderTable([['', 'unit', 'quiet', 'while another table is compacted', 'ratio', 'rounds'], ...lines]);
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
