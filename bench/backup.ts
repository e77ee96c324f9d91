/**
 * `npm run bench:backup`: the times of a backup, of a second backup, and of a restore until the service is ready,
 * compared with `pg_dump` and `pg_restore` of the same tables in the same run. See README.md.
 */
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readModelSchema } from '../projections/models.ts';
import { logSchema } from '../src/log/postgres/log-tables.ts';
import { startClient } from './client-process.ts';
import { rowsPerRequest } from './data.ts';
import { createDatabase, query, settle, startServers } from './environment.ts';
import { flag, logKind, readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { runProgram, runScript } from './processes.ts';
import { judge, median, renderTable, show, showRatio, verdict } from './report.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import {
  makeProfileFolder,
  serviceEnvironment,
  startService,
  startServiceProcess,
  tablog,
} from './service-processes.ts';
import { timed } from './timed.ts';

const options = {
  log: logKind,
  /** How many rows are loaded. */
  rows: wholeNumber(1_000_000, { min: rowsPerRequest, multipleOf: rowsPerRequest }),
  /** How often both sides restore. */
  rounds: wholeNumber(3),
  /** Whether the first restore writes a CPU profile. */
  profile: flag,
};

type Options = OptionsOf<typeof options>;

const loadConnections = 8;
const patchConnections = 32;
/** The part of the rows that are patched between the two backups. */
const patchedPart = 0.01;
/** How many connections `tablog restore` uses, and the jobs of a second `pg_restore`. */
const jobs = 3;

/** The goal for the time of a restore, as a multiple of the time of `pg_restore`. */
const restoreGoal = { atMost: 2 };

/** The measurement of a backup. */
interface Taken {
  readonly seconds: number;
  readonly bytes: number;
}

async function run({ log, rows, rounds, profile }: Options, surroundings: Surroundings): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const {
    postgresUrl,
    databases: { source },
    brokers,
  } = await startServers(surroundings, ['source'], log);
  await checkVersion(postgresUrl, signal);
  const [backups, dump] = [join(folder, 'backups'), join(folder, 'dump')];
  const environment = serviceEnvironment(source, brokers, 'source');
  const { target, processes } = await startService(
    { environment, folder: join(folder, 'service') },
    ['all'],
    resources,
    signal,
  );
  const ask = startClient(resources, signal);
  await ask({ do: 'load', target, rows, connections: loadConnections });

  const measure = async (name: string, work: () => Promise<unknown>, place: string): Promise<Taken> => {
    await settle([source]);
    const before = await bytesOf(place);
    const { seconds } = await timed(work);
    console.error(`${name}: ${seconds.toFixed(2)} s`);
    return { seconds, bytes: (await bytesOf(place)) - before };
  };
  const backup = (): Promise<string> =>
    runScript(
      [tablog, 'backup', backups, '--without-keys'],
      { ...environment, DATA_DIR: join(folder, 'service') },
      signal,
    );
  // With the log in Postgres, its schema contains the records.
  const pgDump = async (name: string): Promise<Taken> => {
    await rm(dump, { force: true });
    return measure(
      name,
      () => runProgram('pg_dump', ['-Fc', '-n', readModelSchema, '-n', logSchema, '-f', dump, source], {}, signal),
      dump,
    );
  };
  const first = { service: await measure('backup', backup, backups), yardstick: await pgDump('pg_dump') };
  await ask({ do: 'patch', target, rows: Math.round(rows * patchedPart), connections: patchConnections });
  const second = {
    service: await measure('second backup', backup, backups),
    yardstick: await pgDump('second pg_dump'),
  };
  for (const process of processes) await process.end('SIGTERM');

  const times: Record<'restore' | 'serving' | 'pg_restore' | 'pg_restore, 3 jobs', number[]> = {
    'restore': [],
    'serving': [],
    'pg_restore': [],
    'pg_restore, 3 jobs': [],
  };
  for (let round = 0; round < rounds; round += 1) {
    const restoring = async (): Promise<void> => {
      await using place = new AsyncDisposableStack();
      const database = await createDatabase(postgresUrl, `restored_${round}`, place);
      await settle([database]);
      const settings = {
        environment: serviceEnvironment(database, brokers, `restored-${round}`),
        folder: join(folder, `restored-${round}`),
      };
      await mkdir(settings.folder);
      const args = profile && round === 0 ? ['--cpu-prof', `--cpu-prof-dir=${await makeProfileFolder()}`] : [];
      const began = performance.now();
      await runScript(
        [...args, tablog, 'restore', backups, '--without-keys', '--unsigned'],
        { ...settings.environment, DATA_DIR: settings.folder },
        signal,
      );
      times.restore.push((performance.now() - began) / 1000);
      await startServiceProcess(settings, 'all', 'all', place, signal);
      times.serving.push((performance.now() - began) / 1000);
      await expectRows(database, rows);
    };
    const pgRestoring = async (into: number[], more: readonly string[]): Promise<void> => {
      await using place = new AsyncDisposableStack();
      const database = await createDatabase(postgresUrl, `dumped_${round}_${more.length}`, place);
      await settle([database]);
      const { seconds } = await timed(() => runProgram('pg_restore', [...more, '-d', database, dump], {}, signal));
      into.push(seconds);
      await expectRows(database, rows);
    };
    const sides = [
      restoring,
      () => pgRestoring(times.pg_restore, []),
      () => pgRestoring(times['pg_restore, 3 jobs'], ['-j', String(jobs)]),
    ];
    for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side();
    console.error(
      `round ${round + 1}: ${Object.entries(times)
        .map(([name, seconds]) => `${name} ${seconds.at(-1)!.toFixed(2)} s`)
        .join(', ')}`,
    );
  }
  const { goal, met } = judge(median(times.serving) / median(times.pg_restore), restoreGoal);
  const compared = (
    name: string,
    service: readonly number[],
    yardstick: readonly number[],
    ...more: string[]
  ): string[] => {
    return [name, 's', show(median(yardstick)), show(median(service)), ...showRatio(service, yardstick), ...more];
  };
  console.log(
    `\n${renderTable([
      [`${rows.toLocaleString('en')} rows`, 'unit', 'pg_dump, pg_restore', 'tablog', 'ratio', 'rounds', 'goal', ''],
      compared('backup', [first.service.seconds], [first.yardstick.seconds], '', ''),
      compared(
        `second backup, ${patchedPart * 100} % of the rows patched`,
        [second.service.seconds],
        [second.yardstick.seconds],
        '',
        '',
      ),
      sizes('stored', first),
      sizes('stored by the second', second),
      compared('restore', times.restore, times.pg_restore, '', ''),
      compared('restore, until it serves', times.serving, times.pg_restore, goal!, verdict(met)),
      compared(`the same, to pg_restore -j ${jobs}`, times.serving, times['pg_restore, 3 jobs'], '', ''),
    ])}`,
  );
}

function sizes(name: string, { service, yardstick }: Readonly<Record<'service' | 'yardstick', Taken>>): string[] {
  const [mine, other] = [service, yardstick].map(({ bytes }) => bytes / 2 ** 20) as [number, number];
  return [name, 'MiB', show(other), show(mine), (mine / other).toFixed(2), '', '', ''];
}

/** Rejects before the work if `pg_dump` cannot dump this Postgres. */
async function checkVersion(url: string, signal: AbortSignal): Promise<void> {
  const [server] = await query<{ version: string }>(url, `select current_setting('server_version') as version`);
  const program = await runProgram('pg_dump', ['--version'], {}, signal);
  const [ofProgram, ofServer] = [program, server!.version].map((text) => Number(/(\d+)/.exec(text)![1])) as [
    number,
    number,
  ];
  if (ofProgram < ofServer) {
    throw new Error(
      `pg_dump is of version ${ofProgram}, and cannot dump a Postgres ${ofServer}: set BENCH_DATABASE_URL to another Postgres`,
    );
  }
}

/** The bytes of a file, or of all files in a folder; 0 if there is none. */
async function bytesOf(path: string): Promise<number> {
  const found = await stat(path).catch(() => null);
  if (found === null) return 0;
  if (!found.isDirectory()) return found.size;
  const entries = await readdir(path, { recursive: true, withFileTypes: true });
  const files = await Promise.all(
    entries.filter((entry) => entry.isFile()).map((entry) => stat(join(entry.parentPath, entry.name))),
  );
  return files.reduce((sum, { size }) => sum + size, 0);
}

async function expectRows(url: string, rows: number): Promise<void> {
  const [found] = await query<{ count: number }>(
    url,
    `select count(*)::int as count from ${readModelSchema}.segment_rows`,
  );
  if (found!.count !== rows) throw new Error(`${found!.count} rows are in ${new URL(url).pathname}, not ${rows}`);
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
