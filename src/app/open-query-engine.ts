/** Opens the query engine with the settings of the process. */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { QueryEngine } from '../api/query/query-engine.ts';
import { createReadingRole } from '../api/query/reading-role.ts';
import type { Config } from './config.ts';
import type { Service } from './service.ts';

/** The maximum number of DuckDB's threads in a query process. */
const queryThreadsMax = 4;

export async function openQueryEngine(
  { database, url }: Pick<Service, 'database' | 'url'>,
  config: Config,
  logger: Logger,
): Promise<QueryEngine> {
  const ownUrl =
    config.QUERY_DATABASE_URL ??
    (config.DATABASE_URL === undefined ? await createReadingRole(database.pool, url) : null);
  return QueryEngine.open({
    pool: database.pool,
    host: config.QUERY_HOST,
    port: config.QUERY_PORT,
    databaseUrl: ownUrl ?? url,
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
}
