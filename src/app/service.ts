/** Wires the service: Postgres, the read model, the log and the keys. Opens and closes each of them. */
import type { Logger } from 'pino';
import { LocalKeys, withFreeKeys } from '../log/batch/local-keys.ts';
import { openQueries } from '../log/model.ts';
import { createReadModel } from '../log/read-model.ts';
import { models, type Queries, readModelSchema, readTablesSql } from '../../projections/models.ts';
import { fillSegment, takeBackSegments } from '../../projections/segments/fill-segment.ts';
import type { Config } from './config.ts';
import { Database } from '../storage/database/database.ts';
import { withEndedBackend } from '../storage/database/end-backend.ts';
import { inPipelinedTransaction } from '../storage/database/transaction.ts';
import { StoredSecretKeys, type SecretKeys } from '../storage/security/secret-keys.ts';
import { untilClosed, untilEnded } from '../log/until-closed.ts';
import { createNotes } from '../api/notes.ts';
import type { RowBlock } from '../language/formats/block-writer.ts';
import type { EventLog } from '../log/event-log.ts';
import { noLogObserver, type LogObserver } from '../log/log-observer.ts';
import { partitionCount } from '../log/partition.ts';
import { readMoves } from '../log/postgres/log-place.ts';
import { LogPlaceWatch } from './log-place-watch.ts';
import { logKindOf, openLog, type Projects } from './open-log.ts';
import { openPostgres } from './open-postgres.ts';
import { ReadModelUse } from '../log/read-model-use.ts';
import { itsPostgres } from './stop-deadline.ts';

/** How many segments `takeBack` removes in one transaction. */
const takenBackAtOnce = 4;

/** The parts that do not need the log: Postgres, and the read model as far as it is projected. */
export interface ReadModel {
  /** Of Postgres. */
  readonly url: string;
  readonly database: Database;
  readonly queries: Queries;
  /** Returns the newest language of events that all running processes can read. */
  readonly languageMax: () => number;
  /** Returns whether processes with other read models may append to the log, as far as this process knows. */
  readonly mayBeBehind: () => boolean;
  /** Resolves when those processes know of this one. Await it before appending. */
  announced(): Promise<void>;
  /**
   * Calls the listener with the reason when the read model becomes unusable, because Postgres has ended or goes on from
   * another history.
   */
  onFailure(listener: (reason: string) => void): void;
  /** Calls the listener when the read model was replaced. Then close everything and open it again. */
  onReplaced(listener: () => void): void;
  /** An embedded Postgres keeps running while other processes use it. */
  close(): Promise<void>;
}

export interface Service {
  /** Of Postgres. */
  readonly url: string;
  readonly database: Database;
  readonly log: EventLog;
  readonly queries: Queries;
  readonly keys: SecretKeys;
  /** Writes the rows of a segment before the event that references it. */
  writeAhead(teamId: string, segmentId: string, block: RowBlock): Promise<void>;
  /** Removes rows that `writeAhead` wrote for segments that no event names. */
  takeBack(segmentIds: readonly string[]): Promise<void>;
  /**
   * Calls the listener with the reason when the service cannot continue: `onFailure` of `ReadModel`, or a failure of
   * the log.
   */
  onFailure(listener: (reason: string) => void): void;
  /** Calls the listener with the reason when the log has moved. Requests that wait get no outcome any more. */
  onMoved(listener: (reason: string) => void): void;
  /** The same as `onReplaced` of `ReadModel`. */
  onReplaced(listener: () => void): void;
  /** Closes everything. An embedded Postgres keeps running while other processes use it. */
  close(): Promise<void>;
}

interface ServiceOptions {
  /** Whether this process projects a log in Kafka. Default: by its role. */
  readonly projects?: Projects;
  /** Observes the log. Default: nobody. */
  readonly observer?: LogObserver;
  /** Called after the read model is open and before the log is opened. */
  readonly beforeLog?: (readModel: ReadModel) => Promise<void>;
}

/**
 * Opens the read model, and creates an empty one if there is none. Rejects when Postgres is not available, with
 * ConfigError for a wrong setting, and with ReadModelInUse while a replay of an earlier version runs.
 */
export async function openReadModel(config: Config, logger: Logger): Promise<ReadModel> {
  return openAll(async (closers) => {
    const postgres = await openPostgres(config, logger);
    closers.push(() => untilEnded(itsPostgres, postgres.close(), logger));
    const use = await ReadModelUse.share(postgres.url, readModelSchema);
    closers.push(() => untilClosed('its use of the read model', use.end(), logger));
    const database = await Database.open({ url: postgres.url, schema: readModelSchema });
    closers.push(() => untilClosed('its connections to Postgres', database.close(), logger));
    await createReadModel(readTablesSql, database, partitionCount);
    await use.identify();
    await createNotes(database.pool);
    return {
      url: postgres.url,
      database,
      queries: openQueries(models, database),
      languageMax: () => use.languageMax,
      mayBeBehind: () => use.othersAppend,
      announced: () => use.announced(),
      onReplaced: (listener) => use.onReplaced(listener),
      onFailure: (listener) => {
        use.onLost(listener);
        database.history.onChanged(listener);
        postgres.embedded?.onExit(() => listener('the embedded Postgres has ended; restart the service to recover it'));
      },
    };
  });
}

/**
 * Starts everything except HTTP. Rejects as `openReadModel` does, when Kafka is not available, and with WrongLog if the
 * read model was not built from this log.
 */
export async function openService(
  config: Config,
  logger: Logger,
  signal: AbortSignal,
  { projects = config.ROLE !== 'api', observer = noLogObserver, beforeLog }: ServiceOptions = {},
): Promise<Service> {
  return openAll(async (closers) => {
    const readModel = await openReadModel(config, logger);
    closers.push(() => readModel.close());
    await beforeLog?.(readModel);
    await readModel.announced();
    const { url, database, queries, languageMax, mayBeBehind, onFailure, onReplaced } = readModel;
    const moves = await readMoves(database.pool);
    const log = await openLog(config, database, { logger, projects, signal, observer, languageMax, mayBeBehind });
    closers.push(() => log.close());
    const place = new LogPlaceWatch(database.pool, logKindOf(config), moves);
    closers.push(() => untilClosed("its watch of the log's place", place.close(), logger));
    const keys = await StoredSecretKeys.open(database.pool);
    closers.push(() => untilClosed('its keys', keys.close(), logger));
    const localKeys = new LocalKeys();
    return {
      url,
      database,
      log,
      queries,
      keys,
      onReplaced,
      onFailure: (listener) => {
        onFailure(listener);
        log.onFailure(listener);
      },
      onMoved: (listener) => place.onMoved(listener),
      writeAhead: (teamId, segmentId, { profile: { rows }, body, ids }) => {
        return withFreeKeys(
          () => localKeys.forget(),
          () =>
            withEndedBackend(database.fills, async (tx) => {
              const reserved = localKeys.open();
              await reserved.reserve(tx, 1);
              const segment = { key: reserved.take(), id: segmentId, teamId, rows, body, ids };
              await inPipelinedTransaction(tx, () => fillSegment(tx, segment));
            }),
        );
      },
      takeBack: async (segmentIds) => {
        // Remove a few at a time, so that others do not wait long for the connection.
        for (let from = 0; from < segmentIds.length; from += takenBackAtOnce) {
          await database.fills.with((tx) => takeBackSegments(tx, segmentIds.slice(from, from + takenBackAtOnce)));
        }
      },
    };
  });
}

/**
 * Opens an object with several parts. `open` adds a closer for each part. `close` runs the closers in reverse order; if
 * `open` rejects, they run as well.
 */
async function openAll<T>(
  open: (closers: (() => Promise<unknown>)[]) => Promise<T>,
): Promise<T & { close(): Promise<void> }> {
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    return { ...(await open(closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}
