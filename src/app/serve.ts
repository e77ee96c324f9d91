/** Runs the service and its HTTP interface, from the start to the end of the process. */
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { pino } from 'pino';
import { OutcomeQueries } from '../log/outcomes/outcomes.queries.ts';
import type { Config } from './config.ts';
import { openFileStore } from '../storage/files/open-file-store.ts';
import { openAuditLog, type AuditLog } from '../administration/audit/audit-log.ts';
import { RefusedTokens } from '../administration/audit/refused-tokens.ts';
import { findDangers, findQuotaDanger } from './dangers.ts';
import { fillReadModel } from './fill-read-model.ts';
import { createFirstTeam, findTeamWithoutToken, tokenFileIn } from './first-team.ts';
import { describeGreeting } from './greeting.ts';
import type { App } from '../api/http/server/app-type.ts';
import { AddressLimit } from '../api/http/limits/address-limit.ts';
import { openShares } from '../api/http/limits/shares.ts';
import { FillProgress } from '../operations/replay/fill-progress.ts';
import { readReplay } from '../operations/replay/replay-progress.ts';
import { RateLimits } from '../api/http/limits/rate-limits.ts';
import { stopping as stoppingHealth } from '../api/http/service/health.ts';
import { serveMetrics } from '../api/http/service/metrics.ts';
import { DiskFloor, foldersToWatch } from '../api/http/limits/disk-floor.ts';
import { Submitter } from '../api/http/submit/submitter.ts';
import { listen } from './listen.ts';
import { Metrics } from '../operations/metrics/metrics.ts';
import { openService, type Service } from './service.ts';
import { openSpoolFolder } from './spool-folder.ts';
import { StandstillWatch } from './standstill-watch.ts';
import { stopInTime } from './stop-deadline.ts';
import { onStopSignal } from './stop-signals.ts';
import { untilClosed } from '../log/until-closed.ts';
import { TokenUses } from '../storage/security/token-uses.ts';
import { openTracing } from '../api/tracing/open-tracing.ts';
import { Maintenance } from '../operations/maintenance/maintenance.ts';
import { JobNotes } from '../api/jobs/job-notes.ts';
import { TeamActivity } from '../api/usage/team-activity.ts';
import { LogBytes } from '../api/usage/log-bytes.ts';
import { countTeamsWithoutLogLimit, dayOf, sumLogBytes } from '../api/usage/log-bytes-notes.ts';
import { QueryEngine } from '../api/query/query-engine.ts';
import { createReadingRole } from '../api/query/reading-role.ts';
import { UploadMaintenance } from '../operations/maintenance/upload-maintenance.ts';
import { askPostgres, buildService, healthCheckOf } from './build-service.ts';
import { openWhenReachable, whenReachable } from './when-reachable.ts';

/** How long before connections are cut the remaining requests are answered, in milliseconds. */
const lastAnswersMs = 500;

/** How many threads DuckDB has in a query process at most. */
const queryThreadsMax = 4;

/** Why everything is closed and opened anew. */
const replaced = 'the read model was replaced';

/** Why the process ends, so that it is started with the settings of the other kind of log. */
const moved = 'the log has moved';

/**
 * Starts, prints the greeting, and resolves once it was told to stop and has. Rejects when it cannot start. When the
 * read model is replaced, closes everything, because what is remembered of the old one is void, and starts anew in this
 * process.
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
    // What was given up may still hold on to something.
    if (stopping.signal.reason !== replaced || process.exitCode === 1) return;
    logger.warn('starts anew with the read model that has taken the place of the old one');
  }
}

/** Serves one read model, until `stopping` aborts, which it does itself when it cannot go on. */
async function serveOnce(config: Config, logger: pino.Logger, stopping: AbortController): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(), { once: true });
  });

  const metrics = new Metrics();
  metrics.observeProcess();
  const { signal } = stopping;
  await using resources = new AsyncDisposableStack();
  const tracing = await openTracing(config, logger);
  resources.defer(() => untilClosed('its traces', tracing?.close(), logger));
  if (tracing !== null) metrics.log.recordsProjected = (records, began) => tracing.recordsProjected(records, began);
  const progress = new FillProgress();
  metrics.watchFill(progress);
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
  const audit = openAuditLog(config.AUDIT_LOG_FILE, logger);
  resources.defer(() => audit.close());
  const refusedTokens = new RefusedTokens(audit);
  resources.defer(() => refusedTokens.close());
  const files = await openWhenReachable(() => openFileStore(config, service.keys), config, logger, signal);
  if (files === null) return;
  resources.defer(() => untilClosed('its file store', files.close(), logger));
  progress.follow(() => readReplay(service.database));
  metrics.ask({ log: service.log, askPostgres: () => askPostgres(service) });
  const { database, log } = service;
  const diskFloor = new DiskFloor({ folders: foldersToWatch(config), freeMin: config.DISK_FREE_MIN, logger });
  metrics.watchDisks(diskFloor);
  const logBytes = new LogBytes({
    pool: database.pool,
    now: () => log.now(),
    settingMax: config.LOG_BYTES_PER_DAY,
    lookAtDisks: config.DISK_FREE_MIN === 0 ? null : () => diskFloor.rooms(),
    logger,
  });
  resources.defer(() => untilClosed('its counts of log bytes', logBytes.close(), logger));
  const jobNotes = new JobNotes({ pool: database.pool, logger });
  resources.defer(() => untilClosed('its notes of jobs', jobNotes.close(), logger));
  metrics.askQuotas(async () => [
    ...(await service.queries.teams.quotaUse()),
    { quota: 'logBytesPerDay' as const, ...(await sumLogBytes(database.pool, dayOf(log.now()))) },
  ]);
  let closeMetrics: (() => Promise<void>) | undefined;
  resources.defer(() => untilClosed('its metrics', closeMetrics?.(), logger));
  let started = false;
  const uses = new TokenUses({ pool: service.database.pool, logger });
  resources.defer(() => untilClosed('its notes of tokens', uses.close(), logger));
  const shares = openShares(config, (name, by) => metrics.requests.shareRefused(name, by));
  metrics.watchShares(shares);
  const outcomes = new OutcomeQueries(service.database);
  const activity = new TeamActivity();
  const submitter = new Submitter(service.log, service.keys, {
    shares,
    logBytes,
    jobNotes,
    outcomes,
    asyncWaitMs: config.ASYNC_WAIT_MS,
    tracing,
    logger,
    onApplied: (teamId, rows) => activity.rowsWritten(teamId, rows),
    onRefused: (refusal) => metrics.requests.refused(refusal),
  });
  const rateLimits = RateLimits.of(config, metrics.requests);
  const spoolFolder = await openSpoolFolder(config.DATA_DIR);
  const addressLimit = AddressLimit.of('refusals', config, metrics.requests);
  const ownUrl =
    config.QUERY_DATABASE_URL ??
    (config.DATABASE_URL === undefined ? await createReadingRole(database.pool, service.url) : null);
  const engine = await QueryEngine.open({
    pool: database.pool,
    host: config.QUERY_HOST,
    port: config.QUERY_PORT,
    databaseUrl: ownUrl ?? service.url,
    hasOwnRole: ownUrl !== null,
    schema: database.schema,
    folder: resolve(config.DATA_DIR, 'queries'),
    memoryBytesMax: config.QUERY_MEMORY_MAX,
    diskBytesMax: config.QUERY_DISK_MAX,
    diskFreeMin: config.DISK_FREE_MIN,
    threads: Math.min(availableParallelism(), queryThreadsMax),
    timeoutMs: config.QUERY_TIMEOUT_MS,
    logger,
  });
  resources.defer(() => untilClosed('its query processes', engine.close(), logger));
  metrics.watchQueries(engine);
  const fail = (message: string, reason: string): void => {
    logger.fatal(message);
    // So that a supervisor restarts the process.
    process.exitCode = 1;
    stopping.abort(reason);
  };
  const standstills = new StandstillWatch({
    log,
    askPostgres: () => askPostgres(service),
    endMs: config.STANDSTILL_MAX_MS,
    onHangs: (message) => fail(message, 'failure'),
    logger,
  });
  resources.defer(() => untilClosed('its look at what stands still', standstills.close(), logger));
  const checkHealth = healthCheckOf({ service, engine, standstills, hasStarted: () => started });
  const app = buildService({
    service,
    engine,
    files,
    submitter,
    outcomes,
    jobNotes,
    logBytes,
    activity,
    shares,
    rateLimits,
    addressLimit,
    diskFloor,
    spoolFolder,
    uses,
    metrics,
    audit,
    refusedTokens,
    tracing,
    config,
    logger,
    checkHealth,
  });
  resources.defer(() =>
    untilClosed('its connections to clients', drain(app, submitter, answersMs(config, stopping.signal.reason)), logger),
  );
  service.onFailure((message) => fail(message, 'failure'));
  service.onMoved((message) => fail(message, moved));
  service.onReplaced(() => stopping.abort(replaced));
  await listen(config.HOST, [
    { setting: 'PORT', port: config.PORT, open: (address) => app.listen(address) },
    ...(config.METRICS_PORT === undefined
      ? []
      : [
          {
            setting: 'METRICS_PORT' as const,
            port: config.METRICS_PORT,
            open: async (address: { readonly host: string; readonly port: number }) => {
              closeMetrics = await serveMetrics(
                metrics,
                () => (stopping.signal.aborted ? stoppingHealth : checkHealth()),
                address,
                logger,
              );
            },
          },
        ]),
  ]);
  // Only now, so that what prevents a start stands alone.
  for (const danger of findDangers(config)) logger.warn(danger);
  await Promise.race([service.log.caughtUp(), stopped]);
  if (config.ROLE !== 'projector' && !stopping.signal.aborted) {
    const { port } = app.server.address() as AddressInfo;
    await greetWhenReachable(service, port, { audit, config, logger, signal: stopping.signal });
  }
  if (config.ROLE !== 'api') {
    const {
      database,
      log,
      queries: { uploads },
    } = service;
    const maintenance = new Maintenance({
      database,
      log,
      uploads: new UploadMaintenance({ log, uploads, files, logger }),
      logger,
      observer: metrics.maintenance,
      interval: config.MAINTENANCE_INTERVAL_MS,
    });
    resources.defer(() => untilClosed('its maintenance', maintenance.close(), logger));
  }
  started = true;
  await stopped;
  logger.info({ reason: stopping.signal.reason }, 'stopping');
}

/** Creates the first team if there is none, and prints the greeting. Gives up when told to stop. */
async function greetWhenReachable(
  service: Service,
  port: number,
  {
    audit,
    config,
    logger,
    signal,
  }: {
    readonly audit: AuditLog;
    readonly config: Config;
    readonly logger: pino.Logger;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  try {
    await whenReachable(
      async () => {
        const newToken = await createFirstTeam(service, config.DATA_DIR, audit);
        await greet(service, config, port, newToken);
        for (const danger of findQuotaDanger(config, await countTeamsWithoutLogLimit(service.database.pool)))
          logger.warn(danger);
      },
      config,
      logger,
      signal,
    );
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/**
 * How long requests may wait for their outcomes while this process stops, in milliseconds. Once the read model was
 * replaced, a process that projects can come to none before it has started anew, and so can no other one. Once the log
 * has moved, all that was appended before is decided.
 */
function answersMs({ DRAIN_TIMEOUT_MS, ROLE }: Config, reason: unknown): number {
  const left = Math.max(0, DRAIN_TIMEOUT_MS - lastAnswersMs);
  return reason === moved || (reason === replaced && ROLE === 'all') ? Math.min(left, lastAnswersMs) : left;
}

async function drain(app: App, submitter: Submitter, waitMs: number): Promise<void> {
  // Requests that still wait at the deadline are answered before their connections are cut.
  const deadline = setTimeout(() => submitter.giveUp(), waitMs);
  await app.close();
  clearTimeout(deadline);
}

/** Prints the address, how to open the console, and commands that can be pasted into a shell. */
async function greet(service: Service, config: Config, port: number, newToken: string | null): Promise<void> {
  const tokenFile = tokenFileIn(config.DATA_DIR);
  const teamWithoutToken = await findTeamWithoutToken(service, config.DATA_DIR);
  process.stdout.write(
    describeGreeting({
      host: config.HOST,
      port,
      tokenFile,
      newToken,
      inTerminal: process.stdout.isTTY,
      teamWithoutToken,
    }),
  );
}
