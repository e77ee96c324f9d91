/**
 * `npm run bench`: measures the service against the yardstick, in alternating rounds on one Postgres. See README.md.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startClient, type Ask } from './client-process.ts';
import { settle, startServers } from './environment.ts';
import { measurements, type Measurement } from './measurements.ts';
import { flag, logKind, namesOf, path, positiveNumber, readOptions, wholeNumber, type OptionsOf } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { findPostmaster, processorTime } from './processor-time.ts';
import {
  renderFigures,
  renderProcessorTime,
  toFigure,
  type Figure,
  type ProcessorFigure,
  type ProcessorRounds,
  type Rounds,
} from './report.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { startYardstick } from './yardstick-process.ts';
import { makeProfileFolder, serviceEnvironment, startService, type Role, type Service } from './service-processes.ts';

const options = {
  rounds: wholeNumber(5),
  seconds: positiveNumber(3),
  /** The measurements, in their order. */
  only: namesOf(measurements),
  json: path,
  log: logKind,
  /** Whether to measure two APIs and two projectors instead of one process. */
  split: flag,
  /** Whether to profile the service. */
  profile: flag,
  /**
   * Whether to measure the yardstick against a second yardstick, which shows how far a ratio deviates from 1 by chance.
   */
  calibrate: flag,
};

type Options = OptionsOf<typeof options>;

type Side = 'yardstick' | 'service';
/** Both sides with their processes, and the Postgres that they share. */
type Sides = Record<Side, Service> & { readonly postmaster: number | undefined };

const rowsLoaded = 100_000;
/** Projectors first: see `startService`. */
const splitRoles: readonly Role[] = ['projector', 'projector', 'api', 'api'];

/** The broker's JIT needs longer than a round to warm up. */
const brokerWarmUpSeconds = 15;

async function measureRounds(
  { rounds, seconds, log }: Options,
  measurement: Measurement,
  sides: Sides,
  ask: Ask,
): Promise<{ figures: Rounds; processor: Record<Side, ProcessorRounds> }> {
  const { workload } = measurement;
  const writesToKafka = (side: Side): boolean => {
    return (
      log === 'kafka' && side === 'service' && (workload === 'patch' || workload === 'batch' || workload === 'add')
    );
  };
  const figures: Rounds = { yardstick: [], service: [] };
  const processor = { yardstick: { own: [], postgres: [] }, service: { own: [], postgres: [] } } as Record<
    Side,
    ProcessorRounds
  >;
  const measureOn = async (side: Side, round: number): Promise<void> => {
    const { target, processes } = sides[side];
    const warmUp = round === 0 && writesToKafka(side) ? brokerWarmUpSeconds : 0;
    const takenBy = (): ReturnType<typeof processorTime> =>
      processorTime(
        processes.map(({ pid }) => pid),
        sides.postmaster,
      );
    const before = await takenBy();
    const { figure, requests } = (await ask({
      do: 'measure',
      target,
      measurement,
      seconds: Math.max(seconds, warmUp),
      seed: round,
    }))!;
    const after = await takenBy();
    if (round === 0) return;
    figures[side].push(figure);
    if (before?.postgres === undefined || after?.postgres === undefined) return;
    processor[side].own.push(((after.own - before.own) / requests) * 1e6);
    processor[side].postgres.push(((after.postgres - before.postgres) / requests) * 1e6);
  };
  // Round 0 warms both sides up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    // The order alternates, so that a machine that gets slower or faster favours neither side.
    const order: Side[] = round % 2 === 0 ? ['yardstick', 'service'] : ['service', 'yardstick'];
    for (const side of order) await measureOn(side, round);
  }
  return { figures, processor };
}

function describeService({ calibrate, split }: Options): string {
  if (calibrate) return 'a second yardstick';
  return split ? 'two APIs and two projectors' : 'one process';
}

/** The highest peak memory of any of these processes. */
async function largestPeak({ processes }: Service): Promise<number | undefined> {
  const peaks = await Promise.all(processes.map(({ pid }) => peakMemoryMiB(pid)));
  return peaks.reduce((most, peak) => (most === undefined || peak === undefined ? undefined : Math.max(most, peak)));
}

async function run(options: Options, surroundings: Surroundings): Promise<void> {
  const { folder, resources, signal } = surroundings;
  const { calibrate, split } = options;
  if (split && options.log !== 'kafka')
    throw new Error('--split needs --log kafka: on Postgres every process does everything');
  if (split && calibrate) throw new Error('--calibrate measures no service that could be --split');
  const { postgresUrl, databases, brokers, facts } = await startServers(
    surroundings,
    ['yardstick', 'service'],
    calibrate ? 'postgres' : options.log,
    [{ what: 'service', value: describeService(options) }],
  );

  const yardstick = await startYardstick(databases.yardstick, join(folder, 'yardstick.log'), resources, signal);
  const service = calibrate
    ? await startYardstick(databases.service, join(folder, 'service.log'), resources, signal)
    : await startService(
        {
          environment: serviceEnvironment(databases.service, brokers, 'bench'),
          folder: join(folder, 'service'),
          profileFolder: options.profile ? await makeProfileFolder() : undefined,
        },
        split ? splitRoles : ['all'],
        resources,
        signal,
      );
  const ask = startClient(resources, signal);
  for (const { target } of [yardstick, service]) await ask({ do: 'load', target, rows: rowsLoaded, connections: 1 });
  await settle(Object.values(databases));

  const sides: Sides = { yardstick, service, postmaster: await findPostmaster(postgresUrl) };
  const figures: Figure[] = [];
  const processorFigures: ProcessorFigure[] = [];
  const judged = !calibrate && !split;
  for (const measurement of options.only) {
    const { figures: rounds, processor } = await measureRounds(options, measurement, sides, ask);
    const goal = options.log === 'kafka' ? (measurement.goalOnKafka ?? measurement.goal) : measurement.goal;
    const figure = toFigure(measurement, rounds, judged ? goal : undefined);
    console.error(`${figure.name}: ${figure.ratio.toFixed(2)}`);
    figures.push(figure);
    if (processor.service.own.length > 0) processorFigures.push({ label: measurement.label, ...processor });
  }
  const memory = { yardstick: await largestPeak(yardstick), service: await largestPeak(service) };
  console.log(`\n${renderFigures(figures, memory, { processes: service.processes.length, judged })}`);
  if (processorFigures.length > 0) console.log(`\n${renderProcessorTime(processorFigures)}`);
  if (options.json === undefined) return;
  await writeFile(
    options.json,
    `${JSON.stringify({ environment: facts, figures, processorTime: processorFigures, peakMemoryMiB: memory }, null, 2)}\n`,
  );
}

await runToEnd(async (surroundings) => run(readOptions(options), surroundings));
