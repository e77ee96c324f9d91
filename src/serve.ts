/** Serving: the service and its HTTP interface, from the start to the end of the process. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import pRetry from 'p-retry';
import { pino } from 'pino';
import { rowLimits } from '../commands/row-limits.ts';
import { OutcomeQueries } from '../projections/outcomes/outcomes.queries.ts';
import { RowQueries } from '../projections/tables/rows.queries.ts';
import { TableQueries } from '../projections/tables/tables.queries.ts';
import type { Config } from './config.ts';
import { isDatabaseAway } from './database/database-away.ts';
import { createFirstTeam } from './first-team.ts';
import { buildApp } from './http/app.ts';
import { Gate } from './http/gate.ts';
import { HttpError } from './http/http-error.ts';
import { Jobs } from './http/jobs.ts';
import { addRoutes } from './http/routes.ts';
import { metricsRoute, serveMetrics } from './http/routes/metrics.ts';
import { Submitter } from './http/submitter.ts';
import { cacheTokens } from './http/token-cache.ts';
import { isKafkaAway } from './log/kafka/kafka-away.ts';
import type { LogObserver } from './log/log-observer.ts';
import { Metrics } from './metrics/metrics.ts';
import { openService, type Service } from './service.ts';

/** How many bodies of rows are read at once: each takes up to two blocks and an unfinished row of memory. */
const bodiesAtOnce = 64;

/** How long before the connections are cut the last requests are answered, in milliseconds. */
const lastAnswersMs = 500;

/** Starts, says where it is, and resolves once it was told to stop and has. Rejects when it cannot start. */
export async function serve(config: Config): Promise<void> {
  const logger = pino({ level: config.LOG_LEVEL });
  const stopping = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stopping.abort(signal));
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });

  const metrics = new Metrics();
  metrics.observeProcess();
  const service = await openWhenReachable(config, logger, stopping.signal, metrics.log);
  metrics.ask({ log: service.log, askPostgres: () => askPostgres(service) });
  let closeMetrics: (() => Promise<void>) | undefined;
  try {
    let started = false;
    const submitter = new Submitter(service.log, service.keys, { asyncWaitMs: config.ASYNC_WAIT_MS, logger });
    const app = buildService({ service, submitter, metrics, config, logger, hasStarted: () => started });
    service.onFailure((reason) => {
      logger.fatal(reason);
      // Whoever looks after this process is to start it again.
      process.exitCode = 1;
      stopping.abort('failure');
    });
    if (config.METRICS_PORT !== undefined) {
      closeMetrics = await serveMetrics(metrics, { host: config.HOST, port: config.METRICS_PORT }, logger);
    }
    await app.listen({ host: config.HOST, port: config.PORT });
    await Promise.race([service.log.caughtUp(), stopped]);
    if (config.ROLE !== 'projector' && !stopping.signal.aborted) {
      await createFirstTeam(service, config.DATA_DIR);
      await sayHello(config, (app.server.address() as AddressInfo).port);
    }
    started = true;
    await stopped;
    logger.info({ reason: stopping.signal.reason }, 'stopping');
    // What still waits at the deadline is told so, before its connection is cut.
    const deadline = setTimeout(() => submitter.giveUp(), Math.max(0, config.DRAIN_TIMEOUT_MS - lastAnswersMs));
    await app.close();
    clearTimeout(deadline);
  } finally {
    await closeMetrics?.();
    await service.close();
  }
}

/** Postgres and Kafka may be starting too. Rejects with the last reason when they cannot be reached in time. */
function openWhenReachable(
  config: Config,
  logger: pino.Logger,
  signal: AbortSignal,
  observer: LogObserver,
): Promise<Service> {
  return pRetry(() => openService(config, logger, signal, { observer }), {
    retries: Infinity, maxRetryTime: config.START_WAIT_MS, minTimeout: 200, maxTimeout: 2000, factor: 1.5, signal,
    shouldRetry: ({ error }) => isDatabaseAway(error) || isKafkaAway(error),
    onFailedAttempt: ({ error }) => logger.warn({ err: error }, 'the service cannot start yet'),
  });
}

/** The HTTP interface; a projector has what its operator asks for, and no more. */
function buildService({ service, submitter, metrics, config, logger, hasStarted }: {
  readonly service: Service;
  readonly submitter: Submitter;
  readonly metrics: Metrics;
  readonly config: Config;
  readonly logger: pino.Logger;
  readonly hasStarted: () => boolean;
}): ReturnType<typeof buildApp> {
  const { database, log, teams, keys } = service;
  const authenticate = cacheTokens((token) => teams.teamOfToken(token));
  return buildApp({
    config,
    log: logger,
    authenticate: (token) => (log.isCaughtUp ? authenticate(token) : refuseWhileBehind()),
    checkHealth: async () => ({
      notReady: [...(hasStarted() ? [] : ['The service is starting.']), ...(await findDatabaseProblems(service))],
      problems: log.problems(),
    }),
    observer: metrics.requests,
    routes: (app) => {
      if (config.METRICS_PORT === undefined) app.route(metricsRoute(metrics));
      if (config.ROLE === 'projector') return;
      addRoutes(app, {
        submitter, tables: new TableQueries(database), rows: new RowQueries(database), gate: new Gate(bodiesAtOnce),
        jobs: new Jobs({ log, keys, outcomes: new OutcomeQueries(database) }),
        receiver: { submitter, bodyBytesMax: config.BODY_SIZE_MAX_BYTES, writeAhead: service.writeAhead },
        limits: rowLimits(config.ROWS_PER_TABLE_MAX), bodyBytesMax: config.BODY_SIZE_MAX_BYTES,
      });
    },
  });
}

/** A read model that is not at the end of its log yet answers nothing: not even who may ask. */
function refuseWhileBehind(): Promise<never> {
  return Promise.reject(new HttpError('service_unavailable', 'The service is starting: its read model is being brought to the end of the log.'));
}

async function askPostgres({ database }: Service): Promise<void> {
  await database.reader.query({ name: 'check_health', text: 'select 1' }, []);
}

async function findDatabaseProblems(service: Service): Promise<string[]> {
  try {
    await askPostgres(service);
    return [];
  } catch {
    return ['Postgres cannot be reached.'];
  }
}

/** A line that can be copied and works. */
async function sayHello(config: Config, port: number): Promise<void> {
  const url = `http://${config.HOST.includes(':') ? `[${config.HOST}]` : config.HOST}:${port}`;
  const path = join(config.DATA_DIR, 'token');
  const token = await readFile(path, 'utf8').then((text) => text.trim(), () => null);
  const header = token === null ? '<a token of yours>' : `$(cat ${path})`;
  process.stdout.write(`\nTablog is ready at ${url}. Try:\n\n  curl -H "Authorization: Bearer ${header}" ${url}/tables\n\n`);
}
