/** Wires the service: Postgres, the log, the read model, and what is made of them. Each resource is closed here. */
import type { Logger } from 'pino';
import { createReadModel, readModelSchema } from '../projections/read-model.ts';
import { Projector } from '../projections/projector.ts';
import { fillSegment } from '../projections/segments/fill-segment.ts';
import { LocalKeys } from '../projections/segments/local-keys.ts';
import { TeamQueries } from '../projections/teams/teams.queries.ts';
import type { Config } from './config.ts';
import { Database } from './database/database.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './embedded/embedded-postgres.ts';
import type { RowBlock } from './formats/block-writer.ts';
import { partitionCount, PostgresLog } from './log/postgres/postgres-log.ts';

export interface Service {
  readonly database: Database;
  readonly log: PostgresLog;
  readonly teams: TeamQueries;
  /** The Postgres that was started for it; null when it uses another. */
  readonly embedded: EmbeddedPostgres | null;
  /** Writes the rows of a segment before the event that names it. */
  writeAhead(segmentId: string, block: RowBlock): Promise<void>;
  /** Closes all of it. `ifUnused`: an embedded Postgres that others use goes on. */
  close(options?: { readonly ifUnused?: boolean }): Promise<void>;
}

/** Starts everything but HTTP. Rejects when Postgres cannot be had, or the log is not the read model's. */
export async function openService(config: Config, logger: Logger, signal: AbortSignal): Promise<Service> {
  const closers: (() => Promise<unknown>)[] = [];
  let ifUnused = false;
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const embedded = config.DATABASE_URL === undefined ? await embeddedPostgres(config, logger) : null;
    if (embedded) closers.push(() => embedded.stop({ ifUnused }));
    const database = await Database.open({ url: embedded?.url ?? config.DATABASE_URL!, schema: readModelSchema });
    closers.push(() => database.close());
    await createReadModel(database, partitionCount);
    const log = new PostgresLog({
      database, projector: new Projector(), queueEventsMax: config.APPEND_QUEUE_EVENTS_MAX,
      queueBytesMax: config.APPEND_QUEUE_BYTES_MAX, unknownWait: config.OUTCOME_WAIT_MS,
      onHalt: (partition, offset, error) => {
        logger.fatal({ partition, offset: String(offset), err: error }, 'a partition has halted: its event cannot be projected');
      },
    });
    closers.push(() => log.close());
    await log.start(signal);
    const keys = new LocalKeys();
    return {
      database, log, embedded, teams: new TeamQueries(database),
      writeAhead: (segmentId, block) => database.fills.with(async (tx) => {
        await keys.reserve(tx, 1);
        await fillSegment(tx, { key: keys.take(), id: segmentId, rows: block.profile.rows, body: block.body });
      }),
      close: (options) => {
        ifUnused = options?.ifUnused ?? false;
        return close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function embeddedPostgres(config: Config, logger: Logger): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    folder: `${config.DATA_DIR}/postgres`,
    log: (line) => logger.debug({ postgres: line }, 'postgres'),
  });
}
