/** Runs the service and its HTTP interface, from the start to the end of the process. */
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import pRetry from 'p-retry';
import { pino } from 'pino';
import { rowLimits, stashLimits, tableLimits } from '../../commands/limits.ts';
import { OutcomeQueries } from '../../projections/engine/outcomes/outcomes.queries.ts';
import { describeFailure } from '../cli/run-to-end.ts';
import type { Config } from './config.ts';
import { isDatabaseAway } from '../database/database-away.ts';
import { StoreAway, type FileStore } from '../files/file-store.ts';
import { LocalFileStore } from '../files/local-file-store.ts';
import { openFileStore } from '../files/open-file-store.ts';
import { openAuditLog, type AuditLog } from '../audit/audit-log.ts';
import { RefusedTokens } from '../audit/refused-tokens.ts';
import { findDangers } from './dangers.ts';
import { fillReadModel } from './fill-read-model.ts';
import { createFirstTeam, findTeamWithoutToken, tokenFileIn } from './first-team.ts';
import { describeGreeting } from './greeting.ts';
import { cacheLinks } from '../http/access/access.ts';
import type { App } from '../http/server/app-type.ts';
import { buildApp } from '../http/server/app.ts';
import { AddressLimit } from '../http/limits/address-limit.ts';
import { openShares, type Shares } from '../http/limits/shares.ts';
import { HttpError } from '../http/answers/http-error.ts';
import { originOf } from '../http/requests/origin.ts';
import { FillProgress } from '../replay/fill-progress.ts';
import { Jobs } from '../http/submit/jobs.ts';
import { RateLimits } from '../http/limits/rate-limits.ts';
import { addRoutes } from '../http/routes.ts';
import { metricsRoute, serveMetrics } from '../http/routes/metrics.ts';
import { DiskFloor, foldersToWatch } from '../http/limits/disk-floor.ts';
import { Submitter } from '../http/submit/submitter.ts';
import { DeferredLookUps } from '../http/access/deferred-look-ups.ts';
import { cacheTokens } from '../http/access/token-cache.ts';
import { Turns } from '../http/bodies/turns.ts';
import { UploadAnswers } from '../http/answers/upload-answers.ts';
import { listen } from './listen.ts';
import { NotAppended } from '../log/event-log.ts';
import { isKafkaAway } from '../log/kafka/kafka-away.ts';
import { Metrics } from '../metrics/metrics.ts';
import { openService, type Service } from './service.ts';
import { openSpoolFolder } from './spool-folder.ts';
import { onStopSignal } from './stop-signals.ts';
import { untilClosed } from '../until-closed.ts';
import { TokenUses } from '../security/token-uses.ts';
import { openTracing } from '../tracing/open-tracing.ts';
import type { Tracing } from '../tracing/tracing.ts';
import { Maintenance } from '../maintenance/maintenance.ts';
import { JobNotes } from '../jobs/job-notes.ts';
import { TeamActivity } from '../usage/team-activity.ts';
import { LogBytes } from '../usage/log-bytes.ts';
import { dayOf, sumLogBytes } from '../usage/log-bytes-notes.ts';
import { QueryEngine } from '../query/query-engine.ts';
import { UploadMaintenance } from '../maintenance/upload-maintenance.ts';

/** How long before connections are cut the remaining requests are answered, in milliseconds. */
const lastAnswersMs = 500;

/** How many threads the query engine has at most. */
const queryThreadsMax = 4;

/** Why everything is closed and opened anew. */
const replaced = 'the read model was replaced';

/**
 * Starts, prints the greeting, and resolves once it was told to stop and has. Rejects when it cannot start. When the read model is replaced,
 * closes everything, because what is remembered of the old one is void, and starts anew in this process.
 */
export async function serve(config: Config): Promise<void> {
  const logger = pino({ level: config.LOG_LEVEL });
  const told = new AbortController();
  onStopSignal((signal) => told.abort(signal), (words) => logger.warn(words));
  while (!told.signal.aborted) {
    const stopping = new AbortController();
    const stop = (): void => stopping.abort(told.signal.reason);
    told.signal.addEventListener('abort', stop, { once: true });
    await serveOnce(config, logger, stopping);
    told.signal.removeEventListener('abort', stop);
    if (stopping.signal.reason !== replaced) return;
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
  resources.defer(() => tracing?.close());
  if (tracing !== null) metrics.log.recordsProjected = (records, began) => tracing.recordsProjected(records, began);
  const progress = new FillProgress();
  metrics.watchFill(progress);
  const service = await openWhenReachable(() => openService(config, logger, signal, {
    observer: metrics.log, beforeLog: (readModel) => fillReadModel(readModel, { config, metrics, progress, logger, signal }),
  }), config, logger, signal);
  if (service === null) return;
  resources.defer(() => service.close());
  const audit = openAuditLog(config.AUDIT_LOG_FILE, logger);
  resources.defer(() => audit.close());
  const refusedTokens = new RefusedTokens(audit);
  resources.defer(() => refusedTokens.close());
  const files = await openWhenReachable(() => openFileStore(config, service.keys), config, logger, signal);
  if (files === null) return;
  resources.defer(() => files.close());
  metrics.ask({ log: service.log, askPostgres: () => askPostgres(service) });
  const { database, log } = service;
  const logBytes = new LogBytes({ pool: database.pool, now: () => log.now(), settingMax: config.LOG_BYTES_PER_DAY, logger });
  resources.defer(() => untilClosed('its counts of log bytes', logBytes.close(), logger));
  const jobNotes = new JobNotes({ pool: database.pool, logger });
  resources.defer(() => untilClosed('its notes of jobs', jobNotes.close(), logger));
  metrics.askQuotas(async () => [
    ...await service.queries.teams.quotaUse(), { quota: 'logBytesPerDay' as const, ...await sumLogBytes(database.pool, dayOf(log.now())) },
  ]);
  let closeMetrics: (() => Promise<void>) | undefined;
  resources.defer(async () => closeMetrics?.());
  let started = false;
  const uses = new TokenUses({ pool: service.database.pool, logger });
  resources.defer(() => uses.close());
  const shares = openShares(config, (name, by) => metrics.requests.shareRefused(name, by));
  metrics.watchShares(shares);
  const diskFloor = new DiskFloor({ folders: foldersToWatch(config), freeMin: config.DISK_FREE_MIN, logger });
  metrics.watchDisks(diskFloor);
  const outcomes = new OutcomeQueries(service.database);
  const activity = new TeamActivity();
  const submitter = new Submitter(service.log, service.keys, {
    shares, logBytes, jobNotes, outcomes, asyncWaitMs: config.ASYNC_WAIT_MS, tracing, logger,
    onApplied: (teamId, rows) => activity.rowsWritten(teamId, rows),
    onRefused: (refusal) => metrics.requests.refused(refusal),
  });
  const rateLimits = RateLimits.of(config, metrics.requests);
  const spoolFolder = await openSpoolFolder(config.DATA_DIR);
  const addressLimit = AddressLimit.of('refusals', config, metrics.requests);
  const engine = await QueryEngine.open({
    pool: database.pool, host: config.QUERY_HOST, port: config.QUERY_PORT,
    databaseUrl: service.url, schema: database.schema, folder: resolve(config.DATA_DIR, 'queries'), memoryBytesMax: config.QUERY_MEMORY_MAX,
    diskBytesMax: config.QUERY_DISK_MAX, diskFreeMin: config.DISK_FREE_MIN, threads: Math.min(availableParallelism(), queryThreadsMax), timeoutMs: config.QUERY_TIMEOUT_MS, logger,
  });
  resources.defer(() => untilClosed('its query engine', engine.close(), logger));
  metrics.watchQueries(engine);
  const app = buildService({
    service, engine, files, submitter, outcomes, jobNotes, logBytes, activity, shares, rateLimits, addressLimit, diskFloor, spoolFolder, uses, metrics, audit, refusedTokens, tracing, config, logger, hasStarted: () => started,
  });
  resources.defer(() => untilClosed('its connections to clients', drain(app, submitter, answersMs(config, stopping.signal.reason)), logger));
  service.onFailure((reason) => {
    logger.fatal(reason);
    // So that a supervisor restarts the process.
    process.exitCode = 1;
    stopping.abort('failure');
  });
  service.onReplaced(() => stopping.abort(replaced));
  await listen(config.HOST, [
    { setting: 'PORT', port: config.PORT, open: (address) => app.listen(address) },
    ...(config.METRICS_PORT === undefined ? [] : [{
      setting: 'METRICS_PORT' as const, port: config.METRICS_PORT,
      open: async (address: { readonly host: string; readonly port: number }) => {
        closeMetrics = await serveMetrics(metrics, address, logger);
      },
    }]),
  ]);
  // Only now, so that what prevents a start stands alone.
  for (const danger of findDangers(config)) logger.warn(danger);
  await Promise.race([service.log.caughtUp(), stopped]);
  if (config.ROLE !== 'projector' && !stopping.signal.aborted) {
    const { port } = app.server.address() as AddressInfo;
    await greetWhenReachable(service, port, { audit, config, logger, signal: stopping.signal });
  }
  if (config.ROLE !== 'api') {
    const { database, log, queries: { uploads } } = service;
    const maintenance = new Maintenance({
      database, log, uploads: new UploadMaintenance({ log, uploads, files, logger }), logger, observer: metrics.maintenance, interval: config.MAINTENANCE_INTERVAL_MS,
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
  { audit, config, logger, signal }: {
    readonly audit: AuditLog; readonly config: Config; readonly logger: pino.Logger; readonly signal: AbortSignal;
  },
): Promise<void> {
  try {
    await whenReachable(async () => {
      const newToken = await createFirstTeam(service, config.DATA_DIR, audit);
      await greet(service, config, port, newToken);
    }, config, logger, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/**
 * How long requests may wait for their outcomes while this process stops, in milliseconds. Once the read model was replaced, a process that projects can
 * come to none before it has started anew, and so can no other one.
 */
function answersMs({ DRAIN_TIMEOUT_MS, ROLE }: Config, reason: unknown): number {
  const left = Math.max(0, DRAIN_TIMEOUT_MS - lastAnswersMs);
  return reason === replaced && ROLE === 'all' ? Math.min(left, lastAnswersMs) : left;
}

async function drain(app: App, submitter: Submitter, waitMs: number): Promise<void> {
  // Requests that still wait at the deadline are answered before their connections are cut.
  const deadline = setTimeout(() => submitter.giveUp(), waitMs);
  await app.close();
  clearTimeout(deadline);
}

/** Retries a step of the start while Postgres, Kafka or the file store cannot be reached, for up to START_WAIT_MS. */
function whenReachable<T>(work: () => Promise<T>, config: Config, logger: pino.Logger, signal: AbortSignal): Promise<T> {
  let told = '';
  return pRetry(work, {
    retries: Infinity, maxRetryTime: config.START_WAIT_MS, minTimeout: 200, maxTimeout: 2000, factor: 1.5, signal,
    shouldRetry: ({ error }) => {
      const mayPass = isDatabaseAway(error) || isKafkaAway(error) || error instanceof NotAppended || error instanceof StoreAway;
      const reason = describeFailure(error);
      // Logged once per reason, not per attempt. Without its stack, which would not help to find the setting.
      if (mayPass && reason !== told) {
        logger.warn(`the service cannot start yet, and tries again for ${config.START_WAIT_MS / 1000} s: ${reason}`);
        told = reason;
      }
      return mayPass;
    },
  });
}

/**
 * Postgres and Kafka may be starting too. Rejects with the last error if they cannot be reached in time; resolves to null if the
 * signal aborts first.
 */
async function openWhenReachable<T extends { close(): Promise<void> }>(
  open: () => Promise<T>,
  config: Config,
  logger: pino.Logger,
  signal: AbortSignal,
): Promise<T | null> {
  let opened: T | null = null;
  try {
    return await whenReachable(async () => (opened = await open()), config, logger, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    logger.info({ reason: signal.reason }, 'stopping before the start is complete');
    // It may have opened just when the signal aborted.
    await (opened as T | null)?.close();
    return null;
  }
}

/** Builds the HTTP interface; a projector serves only health, metrics and documentation. */
function buildService({ service, engine, files, submitter, outcomes, jobNotes, logBytes, activity, shares, rateLimits, addressLimit, diskFloor, spoolFolder, uses, metrics, audit, refusedTokens, tracing, config, logger, hasStarted }: {
  readonly service: Service;
  readonly engine: QueryEngine;
  readonly files: FileStore;
  readonly submitter: Submitter;
  readonly outcomes: OutcomeQueries;
  readonly jobNotes: JobNotes;
  readonly logBytes: LogBytes;
  readonly activity: TeamActivity;
  readonly shares: Shares;
  readonly rateLimits: RateLimits | null;
  readonly addressLimit: AddressLimit | null;
  readonly diskFloor: DiskFloor;
  readonly spoolFolder: string;
  readonly uses: TokenUses;
  readonly metrics: Metrics;
  readonly audit: AuditLog;
  readonly refusedTokens: RefusedTokens;
  readonly tracing: Tracing | null;
  readonly config: Config;
  readonly logger: pino.Logger;
  readonly hasStarted: () => boolean;
}): App {
  const { log, keys, queries: { teams, stashes, uploads, tables: { tables, rows, pages } } } = service;
  const deferred = new DeferredLookUps((tokens) => teams.tokensAmong(tokens));
  const authenticate = cacheTokens({
    find: (token) => teams.token(token),
    ...(addressLimit !== null && {
      suspects: { isSuspect: (request) => addressLimit.isUsedUp(request), find: deferred.find.bind(deferred) },
    }),
    now: () => log.now(), onUse: (tokenId, time) => uses.add(tokenId, time),
  });
  return buildApp({
    config,
    log: logger,
    authenticate: (token, request) => (log.isCaughtUp ? authenticate(token, request) : refuseWhileBehind()),
    addressLimit,
    preflightLimit: AddressLimit.of('preflights', config, metrics.requests),
    onRefusedToken: (request) => refusedTokens.add(originOf(request)),
    quarantinedSince: (teamId) => log.quarantinedSince(teamId),
    isLinked: cacheLinks((teamId, tableId, appId) => tables.isLinked(teamId, tableId, appId)),
    checkHealth: async () => ({
      notReady: [...(hasStarted() ? [] : ['The service is starting.']), ...(await findDatabaseProblems(service))],
      problems: log.problems(),
    }),
    observer: metrics.requests,
    activity,
    tracing,
    routes: (app) => {
      if (config.METRICS_PORT === undefined) app.route(metricsRoute(metrics));
      if (config.ROLE === 'projector') return;
      const requireReadModel = (): Promise<void> => (log.isCaughtUp ? Promise.resolve() : refuseWhileBehind());
      addRoutes(app, {
        submitter, log, teams, database: service.database, tables, rows, pages, engine, stashes, shares, diskFloor: config.DISK_FREE_MIN === 0 ? null : diskFloor,
        jobs: new Jobs({ log, keys, outcomes, notes: jobNotes }),
        receiver: {
          submitter, bodyBytesMax: config.BODY_SIZE_MAX_BYTES, bodyLimits: { openMax: config.BODIES_OPEN_MAX }, turns: new Turns(), rateLimits,
          writeAhead: service.writeAhead, takeBack: service.takeBack, spoolFolder,
        },
        rateLimits, limits: rowLimits(config.ROWS_PER_TABLE_MAX), tableLimits: tableLimits(config.ROWS_PER_TABLE_MAX, config.TABLES_MAX),
        stashLimits: stashLimits({
          lifeMs: config.STASH_LIFE_MS, chunksMax: config.STASH_CHUNKS_MAX, rowsMax: config.STASH_ROWS_MAX, stashesMax: config.STASHES_MAX,
        }),
        bodyBytesMax: config.BODY_SIZE_MAX_BYTES, logBytes, activity, quotaSettings: config,
        audit, uploads, files, filesCacheSeconds: config.FILES_CACHE_SECONDS, uploadAnswers: new UploadAnswers({ files, publicUrl: config.PUBLIC_URL }),
        uploadLimits: {
          sizeMax: config.UPLOAD_SIZE_MAX_BYTES, lifeMs: config.UPLOAD_LIFE_MS, unclaimedLifeMs: config.UPLOAD_UNCLAIMED_LIFE_MS,
          openMax: config.UPLOADS_OPEN_MAX, openBytesMax: config.UPLOADS_OPEN_BYTES_MAX,
        },
        uploadBytes: files instanceof LocalFileStore ? { store: files, keys, log, uploads, shares, addressLimit, rateLimits, requireReadModel } : null, requireReadModel,
      });
    },
  });
}

/** A read model that has not caught up with its log answers nothing, not even whether a token is valid. */
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

/** Prints the address, a link to the console, and commands that can be pasted into a shell. */
async function greet(service: Service, config: Config, port: number, newToken: string | null): Promise<void> {
  const tokenFile = tokenFileIn(config.DATA_DIR);
  const teamWithoutToken = await findTeamWithoutToken(service, config.DATA_DIR);
  process.stdout.write(describeGreeting({ host: config.HOST, port, tokenFile, newToken, teamWithoutToken }));
}
