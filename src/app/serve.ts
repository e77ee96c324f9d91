/** Runs the service and its HTTP interface, from the start to the end of the process. */
import type { AddressInfo } from 'node:net';
import { pino, type Logger } from 'pino';
import { stopping as stoppingHealth } from '../api/http/service/health.ts';
import type { App } from '../api/http/server/app-type.ts';
import type { Submitter } from '../api/http/submit/submitter.ts';
import { openTracing } from '../api/tracing/open-tracing.ts';
import { untilClosed } from '../log/until-closed.ts';
import { Maintenance } from '../operations/maintenance/maintenance.ts';
import { addFillMetrics } from '../operations/metrics/fill-metrics.ts';
import { Metrics } from '../operations/metrics/metrics.ts';
import { FillProgress } from '../operations/replay/fill-progress.ts';
import { readReplay } from '../operations/replay/replay-progress.ts';
import { buildService } from './build-service.ts';
import type { Config } from './config.ts';
import { findDangers } from './dangers.ts';
import type { Feature, OpenFeature } from './feature.ts';
import { features } from './features.ts';
import { fillReadModel } from './fill-read-model.ts';
import { greetWhenReachable } from './greeting.ts';
import { askPostgres, healthCheckOf } from './health.ts';
import { listen } from './listen.ts';
import { openSharedParts, type SharedParts } from './shared-parts.ts';
import { openService } from './service.ts';
import { StandstillWatch } from './standstill-watch.ts';
import { stopInTime } from './stop-deadline.ts';
import { onStopSignal } from './stop-signals.ts';
import { openWhenReachable } from './when-reachable.ts';

/** How long before connections are cut the requests that still wait are answered, in milliseconds. */
const lastAnswersMs = 500;

/** The reason to close everything and open it again. */
const replaced = 'the read model was replaced';

/** The reason to end the process, so that it is started with the settings for the other kind of log. */
const moved = 'the log has moved';

/**
 * Starts the service, prints the greeting, and resolves after a stop signal when everything is closed. Rejects when it
 * cannot start. When the read model is replaced, everything that the process remembers of the old one is void, so it
 * closes everything and starts again in the same process.
 */
export async function serve(config: Config): Promise<void> {
  const logger = pino({ level: config.LOG_LEVEL });
  const told = new AbortController();
  onStopSignal(
    (signal) => told.abort(signal),
    (words) => logger.warn(words),
  );
  while (!told.signal.aborted) {
    const stopping = new AbortController();
    const stop = (): void => stopping.abort(told.signal.reason);
    told.signal.addEventListener('abort', stop, { once: true });
    let stopped: (() => void) | undefined;
    stopping.signal.addEventListener(
      'abort',
      () => {
        stopped = stopInTime(config.DRAIN_TIMEOUT_MS, logger);
      },
      { once: true },
    );
    await serveOnce(config, logger, stopping).finally(() => stopped?.());
    told.signal.removeEventListener('abort', stop);
    // With exit code 1 some closing was given up, and may still hold resources: do not start again.
    if (stopping.signal.reason !== replaced || process.exitCode === 1) return;
    logger.warn('restarts with the read model that has replaced the old one');
  }
}

/** Serves one read model until `stopping` aborts. Aborts it itself when the service cannot continue. */
async function serveOnce(config: Config, logger: Logger, stopping: AbortController): Promise<void> {
  const { signal } = stopping;
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await using resources = new AsyncDisposableStack();
  const metrics = new Metrics();
  metrics.observeProcess();
  const tracing = await openTracing(config, logger);
  resources.defer(() => untilClosed('its traces', tracing?.close(), logger));
  if (tracing !== null) metrics.log.recordsProjected = (records, began) => tracing.recordsProjected(records, began);
  const progress = new FillProgress();
  metrics.add((registry) => addFillMetrics(registry, progress));
  const service = await openWhenReachable(
    () =>
      openService(config, logger, signal, {
        observer: metrics.log,
        beforeLog: (readModel) => fillReadModel(readModel, { config, metrics, progress, logger, signal }),
      }),
    config,
    logger,
    signal,
  );
  if (service === null) return;
  resources.defer(() => service.close());
  progress.follow(() => readReplay(service.database));
  // Closed last, so that the probes answer until the last request has its answer.
  const metricsPort = resources.use(new AsyncDisposableStack());
  const parts = await openSharedParts(service, { config, logger, metrics, tracing }, resources, signal);
  if (parts === null) return;
  const opened = openFeatures(parts, resources);

  const fail = (message: string, reason: string): void => {
    logger.fatal(message);
    // Exit with 1, so that a supervisor restarts the process.
    process.exitCode = 1;
    stopping.abort(reason);
  };
  const standstills = new StandstillWatch({
    log: service.log,
    askPostgres: () => askPostgres(service.database),
    endMs: config.STANDSTILL_MAX_MS,
    onHangs: (message) => fail(message, 'failure'),
    logger,
  });
  resources.defer(() => untilClosed('its watch for standstills', standstills.close(), logger));
  let started = false;
  const checkHealth = healthCheckOf(parts, standstills, () => started);
  const app = buildService(parts, opened, checkHealth);
  resources.defer(() =>
    untilClosed('its connections to clients', drain(app, parts.submitter, answersMs(config, signal.reason)), logger),
  );
  service.onFailure((message) => fail(message, 'failure'));
  service.onMoved((message) => fail(message, moved));
  service.onReplaced(() => stopping.abort(replaced));
  await listen(app, {
    config,
    metrics,
    checkHealth: () => (signal.aborted ? stoppingHealth : checkHealth()),
    resources: metricsPort,
    logger,
  });
  // Warn only now, so that an error that prevents the start stands alone.
  for (const danger of findDangers(config)) logger.warn(danger);
  await Promise.race([service.log.caughtUp(), stopped]);
  if (config.ROLE !== 'projector' && !signal.aborted) {
    const { port } = app.server.address() as AddressInfo;
    await greetWhenReachable(service, port, { audit: parts.audit, config, logger, signal });
  }
  if (config.ROLE !== 'api') {
    const maintenance = new Maintenance({
      database: service.database,
      tasks: opened.flatMap(({ maintenance: tasks = [] }) => tasks),
      logger,
      observer: metrics.maintenance,
      interval: config.MAINTENANCE_INTERVAL_MS,
    });
    resources.defer(() => untilClosed('its maintenance', maintenance.close(), logger));
  }
  started = true;
  await stopped;
  logger.info({ reason: signal.reason }, 'stopping');
}

/** Opens all features, which `resources` closes, and adds their metrics. */
function openFeatures(parts: SharedParts, resources: AsyncDisposableStack): OpenFeature[] {
  return Object.entries(features as Readonly<Record<string, Feature>>).map(([name, open]) => {
    const opened = open(parts);
    const { metrics, close } = opened;
    if (metrics !== undefined) parts.metrics.add(metrics);
    if (close !== undefined) resources.defer(() => untilClosed(`its ${name}`, close(), parts.logger));
    return opened;
  });
}

/**
 * How long requests may wait for their outcomes while this process stops, in milliseconds. After a replacement of the
 * read model, no outcome can arrive until this projector restarts. After a move of the log, every event that was
 * appended before is decided already.
 */
function answersMs({ DRAIN_TIMEOUT_MS, ROLE }: Config, reason: unknown): number {
  const left = Math.max(0, DRAIN_TIMEOUT_MS - lastAnswersMs);
  return reason === moved || (reason === replaced && ROLE === 'all') ? Math.min(left, lastAnswersMs) : left;
}

async function drain(app: App, submitter: Submitter, waitMs: number): Promise<void> {
  // Answer requests that still wait at the deadline, before their connections are cut.
  const deadline = setTimeout(() => submitter.giveUp(), waitMs);
  await app.close();
  clearTimeout(deadline);
}
