/**
 * `npm run bench:move`: how long writes pause while the log moves to Kafka and back under load, and how long a move
 * takes, compared with only reading the log. See README.md.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { logSchema } from '../src/log/postgres/log-tables.ts';
import { query, settle, startServers } from './environment.ts';
import { MoveLoad } from './move-load.ts';
import { oneOf, readOptions, wholeNumber, type LogKind, type OptionsOf } from './options.ts';
import { runScript } from './processes.ts';
import { readLog } from './replay.ts';
import { judge, renderTable, show, verdict } from './report.ts';
import type { Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import {
  serviceEnvironment,
  startService,
  startServiceProcess,
  tablog,
  type ServiceSettings,
} from './service-processes.ts';
import { timed } from './timed.ts';

const options = {
  /** The minimum number of records before the log moves. */
  records: wholeNumber(100_000),
  teams: wholeNumber(4),
  /** The number of clients of each team. */
  clients: wholeNumber(8),
  /** The load while the log moves. Before that, patches fill the log. */
  load: oneOf('patch', 'add'),
};

type Options = OptionsOf<typeof options>;

/** The goal for the pause of writes, in seconds. */
const pauseGoal = { atMost: 5 };

interface Move {
  readonly to: LogKind;
  readonly records: number;
  /**
   * Times in seconds: of only reading the log, of the whole command, of the pause that the command reports, and of the
   * longest time without a successful write.
   */
  readonly reading: number;
  readonly moving: number;
  readonly pause: number;
  readonly clientsPause: number;
}

async function run({ records, teams, clients, load }: Options, surroundings: Surroundings): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const {
    databases: { service: database },
    brokers,
  } = await startServers(surroundings, ['service'], 'kafka');
  const settingsFor = (log: LogKind): ServiceSettings => {
    return {
      environment: serviceEnvironment(database, log === 'kafka' ? brokers : undefined, 'move'),
      folder: join(folder, 'service'),
    };
  };
  const {
    processes: [first],
    target,
  } = await startService(settingsFor('postgres'), ['all'], resources, signal);
  const targets = await makeTeams(target, teams, settingsFor('postgres'), signal);
  const filling = await MoveLoad.start(targets, clients, 'patch');
  while (!filling.hasFailed && (await countRecords(database)) < records) await sleep(500, undefined, { signal });
  await filling.end();

  let serving = first!;
  const moves: Move[] = [];
  for (const to of ['kafka', 'postgres'] as const) {
    const source = settingsFor(to === 'kafka' ? 'postgres' : 'kafka');
    await settle([database]);
    // The first reading warms up caches.
    await readLog(source, database, signal);
    const { seconds: reading } = await timed(() => readLog(source, database, signal));
    const writing = await MoveLoad.start(targets, clients, load);
    const { seconds: moving, result } = await timed(() =>
      runScript([tablog, 'log', 'move', '--to', to, '--json'], settingsFor('kafka').environment, signal),
    );
    await serving.untilEnded();
    serving = await startServiceProcess(
      { ...settingsFor(to), port: serving.port },
      'all',
      `after-${to}`,
      resources,
      signal,
    );
    const clientsPause = (await writing.end()) / 1000;
    const { records, pausedMs } = JSON.parse(result) as { records: number; pausedMs: number };
    moves.push({ to, records, reading, moving, pause: pausedMs / 1000, clientsPause });
    console.error(`to ${to}: ${moving.toFixed(2)} s, writes paused for ${pausedMs} ms`);
  }
  await serving.end('SIGTERM');
  await runScript([tablog, 'verify'], settingsFor('postgres').environment, signal);
  console.log(
    `\n${renderTable([
      [
        '',
        'records',
        'reading the log, s',
        'moving it, s',
        'ratio',
        'writes refused, s',
        'goal',
        '',
        'until a new process writes, s',
      ],
      ...moves.map(({ to, records, reading, moving, pause, clientsPause }) => {
        const { goal, met } = judge(pause, pauseGoal);
        return [
          `to ${to}`,
          records.toLocaleString('en'),
          show(reading),
          show(moving),
          (moving / reading).toFixed(2),
          show(pause),
          goal!,
          verdict(met),
          show(clientsPause),
        ];
      }),
    ])}`,
  );
}

/** The first team, and new teams up to this number. */
async function makeTeams(
  { ports, token }: Target,
  count: number,
  { environment }: ServiceSettings,
  signal: AbortSignal,
): Promise<Target[]> {
  const targets = [{ ports, token }];
  while (targets.length < count) {
    const name = `team ${targets.length}`;
    await runScript([tablog, 'teams', 'create', name], environment, signal);
    const made = JSON.parse(
      await runScript([tablog, 'tokens', 'create', '--team', name, '--json'], environment, signal),
    ) as { token: string };
    targets.push({ ports, token: made.token });
  }
  return targets;
}

/** How many records the log in Postgres has. */
async function countRecords(url: string): Promise<number> {
  const [found] = await query<{ count: number }>(url, `select sum(next)::int as count from ${logSchema}.heads`);
  return found!.count;
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
