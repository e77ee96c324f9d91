/**
 * `npm run bench`: measures the service against the yardstick, in alternating rounds on one Postgres. See README.md.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startClient, type Ask } from './client-process.ts';
import { createDatabase, describeEnvironment, renderFacts, settle, startKafka, startPostgres } from './environment.ts';
import { measurements, type Measurement } from './measurements.ts';
import { readLogKind, readWholeNumber, type LogKind } from './options.ts';
import { peakMemoryMiB } from './processes.ts';
import { renderFigures, toFigure, type Figure, type Rounds } from './report.ts';
import type { Target } from './requests.ts';
import { runToEnd, type Surroundings } from './run-to-end.ts';
import { startYardstick } from './yardstick-process.ts';
import { makeProfileFolder, serviceEnvironment, startService, type Role, type Service } from './service-processes.ts';

interface Options {
  rounds: number;
  seconds: number;
  /** In the order in which they are measured. */
  measurements: readonly Measurement[];
  jsonFile: string | undefined;
  log: LogKind;
  /** Measure two APIs and two projectors in place of one process. */
  split: boolean;
  /** Profile the service. */
  profile: boolean;
  /** Measure the yardstick against a second yardstick: how far from 1 a ratio gets by chance. */
  calibrate: boolean;
}

type Side = 'yardstick' | 'service';
type Targets = Record<Side, Target>;

const rowsLoaded = 100_000;
/** Projectors first: see `startService`. */
const splitRoles: readonly Role[] = ['projector', 'projector', 'api', 'api'];

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      only: { type: 'string' },
      json: { type: 'string' },
      log: { type: 'string', default: 'postgres' },
      split: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      calibrate: { type: 'boolean', default: false },
    },
  });
  const rounds = readWholeNumber('--rounds', values.rounds, 1);
  const seconds = Number(values.seconds);
  if (!(seconds > 0)) throw new Error('--seconds takes a number above 0');
  const chosen = values.only?.split(',').map((name) => {
    const measurement = measurements.find((candidate) => candidate.name === name);
    if (measurement) return measurement;
    throw new Error(`--only takes of: ${measurements.map((candidate) => candidate.name).join(', ')}`);
  });
  const { json: jsonFile, profile, calibrate, split } = values;
  const log = readLogKind(values.log);
  if (split && log !== 'kafka') throw new Error('--split needs --log kafka: on Postgres every process does everything');
  if (split && calibrate) throw new Error('--calibrate measures no service that could be --split');
  return { rounds, seconds, measurements: chosen ?? measurements, jsonFile, log, split, profile, calibrate };
}

/** A broker compiles what it does only while it does it, which takes longer than a round. */
const brokerWarmUpSeconds = 15;

async function measureRounds(
  { rounds, seconds, log }: Options, measurement: Measurement, targets: Targets, ask: Ask,
): Promise<Rounds> {
  const { workload } = measurement;
  const writesToKafka = (side: Side): boolean => {
    return log === 'kafka' && side === 'service' && (workload === 'patch' || workload === 'add');
  };
  const measureOn = async (side: Side, round: number): Promise<number> => {
    const warmUp = round === 0 && writesToKafka(side) ? brokerWarmUpSeconds : 0;
    const request = { target: targets[side], measurement, seconds: Math.max(seconds, warmUp), seed: round };
    return (await ask({ do: 'measure', ...request }))!.figure;
  };
  const figures: Rounds = { yardstick: [], service: [] };
  // Round 0 warms both up and is not counted.
  for (let round = 0; round <= rounds; round++) {
    // Who goes first changes, so that a machine that gets slower or faster favours neither.
    const order: Side[] = round % 2 === 0 ? ['yardstick', 'service'] : ['service', 'yardstick'];
    for (const side of order) {
      const figure = await measureOn(side, round);
      if (round > 0) figures[side].push(figure);
    }
  }
  return figures;
}

function describeService({ calibrate, split }: Options): string {
  if (calibrate) return 'a second yardstick';
  return split ? 'two APIs and two projectors' : 'one process';
}

/** The most that any of these processes took. */
async function largestPeak({ processes }: Service): Promise<number | undefined> {
  const peaks = await Promise.all(processes.map(({ pid }) => peakMemoryMiB(pid)));
  return peaks.reduce((most, peak) => (most === undefined || peak === undefined ? undefined : Math.max(most, peak)));
}

async function run(options: Options, { folder, resources, signal }: Surroundings): Promise<void> {
  const { calibrate, split } = options;
  const postgresUrl = await startPostgres(join(folder, 'postgres'), resources);
  signal.throwIfAborted();
  const databases = {
    yardstick: await createDatabase(postgresUrl, 'yardstick', resources),
    service: await createDatabase(postgresUrl, 'service', resources),
  };
  const environment = await describeEnvironment(databases);
  const kafka = options.log === 'kafka' && !calibrate ? await startKafka(resources) : undefined;
  if (kafka) environment.push(kafka.fact);
  environment.push({ what: 'service', value: describeService(options) });
  console.log(renderFacts(environment));

  const yardstick = await startYardstick(databases.yardstick, join(folder, 'yardstick.log'), resources, signal);
  const service = calibrate
    ? await startYardstick(databases.service, join(folder, 'service.log'), resources, signal)
    : await startService({
      environment: serviceEnvironment(databases.service, kafka?.brokers, 'bench'),
      folder: join(folder, 'service'),
      profileFolder: options.profile ? await makeProfileFolder() : undefined,
    }, split ? splitRoles : ['all'], resources, signal);
  const targets: Targets = { yardstick: yardstick.target, service: service.target };
  const ask = startClient(resources, signal);
  for (const target of Object.values(targets)) await ask({ do: 'load', target, rows: rowsLoaded, connections: 1 });
  await settle(Object.values(databases));

  const figures: Figure[] = [];
  const judged = !calibrate && !split;
  for (const measurement of options.measurements) {
    const rounds = await measureRounds(options, measurement, targets, ask);
    const goal = options.log === 'kafka' ? (measurement.goalOnKafka ?? measurement.goal) : measurement.goal;
    const figure = toFigure(measurement, rounds, judged ? goal : undefined);
    console.error(`${figure.name}: ${figure.ratio.toFixed(2)}`);
    figures.push(figure);
  }
  const memory = { yardstick: await largestPeak(yardstick), service: await largestPeak(service) };
  console.log(`\n${renderFigures(figures, memory, { processes: service.processes.length, judged })}`);
  if (options.jsonFile === undefined) return;
  await writeFile(options.jsonFile, `${JSON.stringify({ environment, figures, peakMemoryMiB: memory }, null, 2)}\n`);
}

await runToEnd(async (surroundings) => run(readOptions(), surroundings));
