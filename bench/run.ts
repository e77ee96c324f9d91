/**
 * `npm run bench`: measures the service against the yardstick, in alternating rounds on one Postgres. See README.md.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startBroker } from '../test/support/kafka/shared-kafka.ts';
import type { ClientReply, ClientRequest, Target } from './client.ts';
import { createDatabases, describeEnvironment, settle, startPostgres } from './environment.ts';
import { measurements, type Measurement } from './measurements.ts';
import { peakMemoryMiB, startServer, stop, type Server } from './processes.ts';
import { renderFigures, toFigure, type Figure, type Rounds } from './report.ts';

interface Options {
  rounds: number;
  seconds: number;
  /** In the order in which they are measured. */
  measurements: readonly Measurement[];
  jsonFile: string | undefined;
  /** Where the service has its log. */
  log: 'postgres' | 'kafka';
  /** Profile the service. */
  profile: boolean;
  /** Measure the yardstick against a second yardstick: how far from 1 a ratio gets by chance. */
  calibrate: boolean;
}

type Ask = (request: ClientRequest) => Promise<number | undefined>;
type Side = 'yardstick' | 'service';
type Targets = Record<Side, Target>;
type MeasuredServer = Server & Target;

const root = join(import.meta.dirname, '..');

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      only: { type: 'string' },
      json: { type: 'string' },
      log: { type: 'string', default: 'postgres' },
      profile: { type: 'boolean', default: false },
      calibrate: { type: 'boolean', default: false },
    },
  });
  const rounds = Number(values.rounds);
  const seconds = Number(values.seconds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds takes a whole number of at least 1');
  if (!(seconds > 0)) throw new Error('--seconds takes a number above 0');
  const chosen = values.only?.split(',').map((name) => {
    const measurement = measurements.find((candidate) => candidate.name === name);
    if (measurement) return measurement;
    throw new Error(`--only takes of: ${measurements.map((candidate) => candidate.name).join(', ')}`);
  });
  const { json: jsonFile, profile, calibrate, log } = values;
  if (log !== 'postgres' && log !== 'kafka') throw new Error('--log takes postgres or kafka');
  return { rounds, seconds, measurements: chosen ?? measurements, jsonFile, log, profile, calibrate };
}

/** A broker compiles what it does only while it does it, which takes longer than a round. */
const brokerWarmUpSeconds = 15;

/** Starts the client. What the returned function asks of it rejects if an answer was not as expected. */
function startClient(resources: AsyncDisposableStack, signal: AbortSignal): Ask {
  signal.throwIfAborted();
  const client = fork(join(import.meta.dirname, 'client.ts'));
  resources.defer(() => stop(client, 'client'));
  const died = new AbortController();
  client.once('exit', () => died.abort(new Error('the client died')));
  return async (request) => {
    signal.throwIfAborted();
    const either = AbortSignal.any([signal, died.signal]);
    client.send(request);
    try {
      const [reply] = await once(client, 'message', { signal: either }) as [ClientReply];
      if ('error' in reply) throw new Error(reply.error);
      return reply.figure;
    } catch (error) {
      throw either.aborted ? either.reason : error;
    }
  };
}

async function measureRounds(
  { rounds, seconds, log }: Options, measurement: Measurement, targets: Targets, ask: Ask,
): Promise<Rounds> {
  const writesToKafka = (side: Side): boolean => {
    return log === 'kafka' && side === 'service' && (measurement.workload === 'patch' || measurement.workload === 'add');
  };
  const measureOn = async (side: Side, round: number): Promise<number> => {
    const warmUp = round === 0 && writesToKafka(side) ? brokerWarmUpSeconds : 0;
    return (await ask({ do: 'measure', target: targets[side], measurement, seconds: Math.max(seconds, warmUp), seed: round }))!;
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

async function startYardstick(
  databaseUrl: string, logFile: string, resources: AsyncDisposableStack, signal: AbortSignal,
): Promise<MeasuredServer> {
  const token = 'yardstick';
  const server = await startServer({
    name: 'yardstick',
    nodeArguments: [join(import.meta.dirname, 'yardstick.ts')],
    environment: { DATABASE_URL: databaseUrl, TOKEN: token },
    logFile,
  }, resources, signal);
  return { ...server, token };
}

async function startService(
  { profile, log }: Options, databaseUrl: string, folder: string, resources: AsyncDisposableStack, signal: AbortSignal,
): Promise<MeasuredServer> {
  const dataDir = join(folder, 'service');
  await mkdir(dataDir);
  const brokers = log === 'kafka' ? await startKafka(resources) : '';
  const profileFolder = profile ? await mkdtemp(join(tmpdir(), 'tablog-profile-')) : undefined;
  if (profileFolder) console.log(`CPU profile of the service, written when it stops: ${profileFolder}`);
  const server = await startServer({
    name: 'service',
    nodeArguments: [
      ...(profileFolder ? ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`] : []),
      // As `npm start` runs it.
      '--max-semi-space-size=16',
      join(root, 'src', 'main.ts'),
    ],
    environment: { DATABASE_URL: databaseUrl, DATA_DIR: dataDir, KAFKA_BROKERS: brokers, MALLOC_ARENA_MAX: '1' },
    logFile: join(folder, 'service.log'),
  }, resources, signal);
  return { ...server, token: (await readFile(join(dataDir, 'token'), 'utf8')).trim() };
}

/** The address of a broker of its own. */
async function startKafka(resources: AsyncDisposableStack): Promise<string> {
  const broker = await startBroker();
  resources.defer(() => broker.remove());
  console.log(`Kafka: ${broker.where}`);
  return broker.address;
}

async function run(options: Options, signal: AbortSignal): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'tablog-bench-'));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  // Postgres may run as another user than this process.
  await chmod(folder, 0o755);
  const postgresUrl = await startPostgres(join(folder, 'postgres'), resources);
  signal.throwIfAborted();
  const databases = await createDatabases(postgresUrl, resources);
  const environment = await describeEnvironment(databases);
  if (options.calibrate) console.log('calibration: the service is a second yardstick');
  console.log(environment.map(({ what, value }) => `${what}: ${value}`).join('\n'));

  const yardstick = await startYardstick(databases.yardstick, join(folder, 'yardstick.log'), resources, signal);
  const service = options.calibrate
    ? await startYardstick(databases.service, join(folder, 'service.log'), resources, signal)
    : await startService(options, databases.service, folder, resources, signal);
  const targets: Targets = { yardstick, service };
  const ask = startClient(resources, signal);
  await ask({ do: 'load', target: targets.yardstick });
  await ask({ do: 'load', target: targets.service });
  await settle(databases);

  const figures: Figure[] = [];
  for (const measurement of options.measurements) {
    const rounds = await measureRounds(options, measurement, targets, ask);
    const goal = options.log === 'kafka' ? (measurement.goalOnKafka ?? measurement.goal) : measurement.goal;
    const figure = toFigure(measurement, rounds, options.calibrate ? undefined : goal);
    console.error(`${figure.name}: ${figure.ratio.toFixed(2)}`);
    figures.push(figure);
  }
  const memory = { yardstick: await peakMemoryMiB(yardstick.pid), service: await peakMemoryMiB(service.pid) };
  console.log(`\n${renderFigures(figures, memory)}`);
  if (options.jsonFile === undefined) return;
  await writeFile(options.jsonFile, `${JSON.stringify({ environment, figures, peakMemoryMiB: memory }, null, 2)}\n`);
}

const interrupt = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => interrupt.abort(new Error(`stopped by ${name}`)));
}
try {
  await run(readOptions(), interrupt.signal);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
}
