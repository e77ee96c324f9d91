/**
 * The parts that the features of a process share: the service, files, limits, the query engine, the way into the log.
 */
import type { Logger } from 'pino';
import { openAuditLog, type AuditLog } from '../administration/audit/audit-log.ts';
import { RefusedTokens } from '../administration/audit/refused-tokens.ts';
import type { ReachHead } from '../api/http/access/at-head.ts';
import { HttpError } from '../api/http/answers/http-error.ts';
import { UploadAnswers } from '../api/http/uploads/upload-answers.ts';
import type { RowReceiver } from '../api/http/bodies/receive-rows.ts';
import { Turns } from '../api/http/bodies/turns.ts';
import { AddressLimit } from '../api/http/limits/address-limit.ts';
import { DiskFloor, foldersToWatch } from '../api/http/limits/disk-floor.ts';
import { RateLimits } from '../api/http/limits/rate-limits.ts';
import { openShares, type Shares } from '../api/http/limits/shares.ts';
import { FilesOrigin } from '../api/http/requests/files-origin.ts';
import { Submitter } from '../api/http/submit/submitter.ts';
import { JobNotes } from '../api/jobs/job-notes.ts';
import type { QueryEngine } from '../api/query/query-engine.ts';
import type { Tracing } from '../api/tracing/tracing.ts';
import { LogBytes } from '../api/usage/log-bytes.ts';
import { TeamActivity } from '../api/usage/team-activity.ts';
import { OutcomeQueries } from '../log/outcomes/outcomes.queries.ts';
import { partitionOf } from '../log/partition.ts';
import { untilClosed } from '../log/until-closed.ts';
import type { Metrics } from '../operations/metrics/metrics.ts';
import type { FileStore } from '../storage/files/file-store.ts';
import { openFileStore } from '../storage/files/open-file-store.ts';
import { TokenUses } from '../storage/security/token-uses.ts';
import type { Config } from './config.ts';
import { openQueryEngine } from './open-query-engine.ts';
import type { Service } from './service.ts';
import { openSpoolFolder } from './spool-folder.ts';
import { openWhenReachable } from './when-reachable.ts';

/** The parts of a process that exist before it opens its service. */
interface ProcessParts {
  readonly config: Config;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Null if traces are off. */
  readonly tracing: Tracing | null;
}

export interface SharedParts extends ProcessParts, Pick<Service, 'database' | 'log' | 'queries' | 'keys'> {
  readonly audit: AuditLog;
  readonly refusedTokens: RefusedTokens;
  readonly tokenUses: TokenUses;
  readonly files: FileStore;
  /** Null: files have no origin of their own. */
  readonly filesOrigin: FilesOrigin | null;
  readonly uploadAnswers: UploadAnswers;
  readonly diskFloor: DiskFloor;
  readonly shares: Shares;
  /** Null if there are no limits. */
  readonly rateLimits: RateLimits | null;
  readonly addressLimit: AddressLimit | null;
  readonly logBytes: LogBytes;
  readonly jobNotes: JobNotes;
  readonly outcomes: OutcomeQueries;
  readonly activity: TeamActivity;
  readonly submitter: Submitter;
  readonly receiver: RowReceiver;
  readonly engine: QueryEngine;
  readonly reachHead: ReachHead;
  /** Rejects with HttpError while the read model has not caught up with its log. */
  readonly requireReadModel: () => Promise<void>;
}

/**
 * Opens the parts; `resources` closes them. Resolves to null if the signal aborts first. Rejects with ConfigError for a
 * wrong setting.
 */
export async function openSharedParts(
  service: Service,
  given: ProcessParts,
  resources: AsyncDisposableStack,
  signal: AbortSignal,
): Promise<SharedParts | null> {
  const { config, logger, metrics, tracing } = given;
  const { database, log, keys, queries } = service;
  /** Makes `resources` close the part. */
  const closing = <T extends { close(): Promise<unknown> }>(what: string, part: T): T => {
    resources.defer(() => untilClosed(what, part.close(), logger));
    return part;
  };
  const audit = resources.adopt(openAuditLog(config.AUDIT_LOG_FILE, logger), (opened) => opened.close());
  const refusedTokens = resources.adopt(new RefusedTokens(audit), (opened) => opened.close());
  const files = await openWhenReachable(() => openFileStore(config, keys), config, logger, signal);
  if (files === null) return null;
  closing('its file store', files);
  const filesOrigin = FilesOrigin.of(config);
  const diskFloor = new DiskFloor({ folders: foldersToWatch(config), freeMin: config.DISK_FREE_MIN, logger });
  const logBytes = closing(
    'its counts of log bytes',
    new LogBytes({
      pool: database.pool,
      now: () => log.now(),
      settingMax: config.LOG_BYTES_PER_DAY,
      lookAtDisks: config.DISK_FREE_MIN === 0 ? null : () => diskFloor.rooms(),
      logger,
    }),
  );
  const jobNotes = closing('its notes of jobs', new JobNotes({ pool: database.pool, logger }));
  const tokenUses = closing('its notes of tokens', new TokenUses({ pool: database.pool, logger }));
  const shares = openShares(config, (name, by) => metrics.requests.shareRefused(name, by));
  const outcomes = new OutcomeQueries(database);
  const activity = new TeamActivity();
  const submitter = new Submitter(log, keys, {
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
  const reachHead: ReachHead = (teamId) =>
    log.mayBeBehind ? log.reachHead(teamId === null ? null : partitionOf(teamId, log.partitions)) : null;
  return {
    ...given,
    database,
    log,
    queries,
    keys,
    audit,
    refusedTokens,
    tokenUses,
    files,
    filesOrigin,
    uploadAnswers: new UploadAnswers({ files, publicUrl: config.PUBLIC_URL, filesOrigin }),
    diskFloor,
    shares,
    rateLimits,
    addressLimit: AddressLimit.of('refusals', config, metrics.requests),
    logBytes,
    jobNotes,
    outcomes,
    activity,
    submitter,
    receiver: {
      submitter,
      bodyBytesMax: config.BODY_SIZE_MAX_BYTES,
      bodyLimits: { openMax: config.BODIES_OPEN_MAX },
      places: shares.bodies,
      turns: new Turns(),
      rateLimits,
      writeAhead: service.writeAhead,
      takeBack: service.takeBack,
      spoolFolder: await openSpoolFolder(config.DATA_DIR),
    },
    engine: closing('its query processes', await openQueryEngine(service, config, logger)),
    reachHead,
    requireReadModel: () => (log.isCaughtUp ? (reachHead(null) ?? Promise.resolve()) : refuseWhileBehind()),
  };
}

/** Refuses a request while the read model has not caught up: even the validity of a token is unknown then. */
export function refuseWhileBehind(): Promise<never> {
  return Promise.reject(
    new HttpError(
      'service_unavailable',
      'The service is starting: its read model has not caught up with the log yet. Try again later.',
    ),
  );
}
