/** Puts the HTTP interface together out of the parts of the service. */
import type { pino } from 'pino';
import { rowLimits, stashLimits, tableLimits } from '../../commands/limits.ts';
import { OutcomeQueries } from '../log/outcomes/outcomes.queries.ts';
import type { Config } from './config.ts';
import { type FileStore } from '../storage/files/file-store.ts';
import { LocalFileStore } from '../storage/files/local-file-store.ts';
import { type AuditLog } from '../administration/audit/audit-log.ts';
import { RefusedTokens } from '../administration/audit/refused-tokens.ts';
import { partitionOf } from '../log/partition.ts';
import type { ReachHead } from '../api/http/access/at-head.ts';
import { cacheLinks } from '../api/http/access/access.ts';
import type { App } from '../api/http/server/app-type.ts';
import { buildApp } from '../api/http/server/app.ts';
import { AddressLimit } from '../api/http/limits/address-limit.ts';
import { type Shares } from '../api/http/limits/shares.ts';
import { HttpError } from '../api/http/answers/http-error.ts';
import { FilesOrigin } from '../api/http/requests/files-origin.ts';
import { originOf } from '../api/http/requests/origin.ts';
import { Jobs } from '../api/http/submit/jobs.ts';
import { RateLimits } from '../api/http/limits/rate-limits.ts';
import { addRoutes } from '../api/http/routes.ts';
import type { CheckHealth } from '../api/http/service/health.ts';
import { metricsRoute } from '../api/http/service/metrics.ts';
import { DiskFloor } from '../api/http/limits/disk-floor.ts';
import { Submitter } from '../api/http/submit/submitter.ts';
import { DeferredLookUps } from '../api/http/access/deferred-look-ups.ts';
import { cacheTokens } from '../api/http/access/token-cache.ts';
import { Turns } from '../api/http/bodies/turns.ts';
import { UploadAnswers } from '../api/http/uploads/upload-answers.ts';
import { Metrics } from '../operations/metrics/metrics.ts';
import { type Service } from './service.ts';
import type { StandstillWatch } from './standstill-watch.ts';
import { TokenUses } from '../storage/security/token-uses.ts';
import type { Tracing } from '../api/tracing/tracing.ts';
import { JobNotes } from '../api/jobs/job-notes.ts';
import { TeamActivity } from '../api/usage/team-activity.ts';
import { LogBytes } from '../api/usage/log-bytes.ts';
import { QueryEngine } from '../api/query/query-engine.ts';

/** Builds the HTTP interface; a projector serves only health, metrics and documentation. */
export function buildService({
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
}: {
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
  readonly checkHealth: CheckHealth;
}): App {
  const {
    log,
    keys,
    queries: {
      teams,
      stashes,
      uploads,
      tables: { tables, rows, pages },
    },
  } = service;
  const reachHead: ReachHead = (teamId) =>
    log.mayBeBehind ? log.reachHead(teamId === null ? null : partitionOf(teamId, log.partitions)) : null;
  const deferred = new DeferredLookUps((tokens) => teams.tokensAmong(tokens));
  const authenticate = cacheTokens({
    find: async (token) => {
      const known = await teams.token(token);
      const reaching = known === null ? reachHead(null) : null;
      if (reaching === null) return known;
      await reaching;
      return teams.token(token);
    },
    ...(addressLimit !== null && {
      suspects: { isSuspect: (request) => addressLimit.isUsedUp(request), find: deferred.find.bind(deferred) },
    }),
    now: () => log.now(),
    onUse: (tokenId, time) => uses.add(tokenId, time),
  });
  const filesOrigin = FilesOrigin.of(config);
  return buildApp({
    config,
    filesOrigin,
    log: logger,
    authenticate: (token, request) => (log.isCaughtUp ? authenticate(token, request) : refuseWhileBehind()),
    addressLimit,
    preflightLimit: AddressLimit.of('preflights', config, metrics.requests),
    publicLimit: AddressLimit.of('public_requests', config, metrics.requests),
    outgoingBytes: shares.outgoingBytes,
    onRefusedToken: (request) => refusedTokens.add(originOf(request)),
    quarantinedSince: (teamId) => log.quarantinedSince(teamId),
    reachHead,
    isLinked: cacheLinks((teamId, tableId, appId) => tables.isLinked(teamId, tableId, appId)),
    checkHealth,
    observer: metrics.requests,
    activity,
    tracing,
    routes: (app) => {
      if (config.METRICS_PORT === undefined) app.route(metricsRoute(metrics));
      if (config.ROLE === 'projector') return;
      const requireReadModel = (): Promise<void> =>
        log.isCaughtUp ? (reachHead(null) ?? Promise.resolve()) : refuseWhileBehind();
      addRoutes(app, {
        submitter,
        log,
        teams,
        database: service.database,
        tables,
        rows,
        pages,
        engine,
        stashes,
        shares,
        diskFloor: config.DISK_FREE_MIN === 0 ? null : diskFloor,
        jobs: new Jobs({ log, keys, outcomes, notes: jobNotes }),
        receiver: {
          submitter,
          bodyBytesMax: config.BODY_SIZE_MAX_BYTES,
          bodyLimits: { openMax: config.BODIES_OPEN_MAX },
          places: shares.bodies,
          turns: new Turns(),
          rateLimits,
          writeAhead: service.writeAhead,
          takeBack: service.takeBack,
          spoolFolder,
        },
        rateLimits,
        limits: rowLimits(config.ROWS_PER_TABLE_MAX),
        tableLimits: tableLimits(config.ROWS_PER_TABLE_MAX, config.TABLES_MAX),
        stashLimits: stashLimits({
          lifeMs: config.STASH_LIFE_MS,
          chunksMax: config.STASH_CHUNKS_MAX,
          rowsMax: config.STASH_ROWS_MAX,
          stashesMax: config.STASHES_MAX,
        }),
        bodyBytesMax: config.BODY_SIZE_MAX_BYTES,
        logBytes,
        activity,
        quotaSettings: config,
        audit,
        uploads,
        files,
        filesCacheSeconds: config.FILES_CACHE_SECONDS,
        uploadAnswers: new UploadAnswers({ files, publicUrl: config.PUBLIC_URL, filesOrigin }),
        filesOrigin,
        uploadLimits: {
          sizeMax: config.UPLOAD_SIZE_MAX_BYTES,
          lifeMs: config.UPLOAD_LIFE_MS,
          unclaimedLifeMs: config.UPLOAD_UNCLAIMED_LIFE_MS,
          openMax: config.UPLOADS_OPEN_MAX,
          openBytesMax: config.UPLOADS_OPEN_BYTES_MAX,
        },
        uploadBytes:
          files instanceof LocalFileStore
            ? {
                store: files,
                keys,
                log,
                uploads,
                shares,
                addressLimit,
                rateLimits,
                logBytes,
                onRefused: (refusal) => metrics.requests.refused(refusal),
                requireReadModel,
              }
            : null,
        requireReadModel,
      });
    },
  });
}

/** What `/readyz` says. */
export function healthCheckOf({
  service,
  engine,
  standstills,
  hasStarted,
}: {
  readonly service: Service;
  readonly engine: QueryEngine;
  readonly standstills: Pick<StandstillWatch, 'problem'>;
  readonly hasStarted: () => boolean;
}): CheckHealth {
  return async () => {
    const notReady = [...(hasStarted() ? [] : ['The service is starting.']), ...(await findDatabaseProblems(service))];
    const { problem } = standstills;
    return {
      notReady: notReady.length > 0 || problem === null ? notReady : [problem],
      problems: [...service.log.problems(), ...engine.problems()],
    };
  };
}

/** A read model that has not caught up with its log answers nothing, not even whether a token is valid. */
function refuseWhileBehind(): Promise<never> {
  return Promise.reject(
    new HttpError(
      'service_unavailable',
      'The service is starting: its read model is being brought to the end of the log.',
    ),
  );
}

export async function askPostgres({ database }: Service): Promise<void> {
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
