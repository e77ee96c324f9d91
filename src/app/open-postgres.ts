/** The Postgres that a process uses. */
import { join } from 'node:path';
import type { Logger } from 'pino';
import { checkPostgres } from '../storage/database/check-postgres.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../storage/embedded/embedded-postgres.ts';
import { isStartupProgress } from '../storage/embedded/server-log.ts';
import type { Config } from './config.ts';
import { inDataFolder, makeFolder } from '../storage/data-folder.ts';

/** The Postgres of the settings, or an embedded one that was started or joined. */
interface OpenPostgres {
  readonly url: string;
  readonly embedded: EmbeddedPostgres | null;
  /** Call it after all connections are closed. The last process to leave an embedded Postgres stops it. */
  close(): Promise<void>;
}

/**
 * Checks the Postgres of DATABASE_URL, or starts or joins the embedded one. Rejects with ConfigError for a wrong
 * setting, and with EmbeddedPostgresError.
 */
export async function openPostgres(config: Config, logger: Logger): Promise<OpenPostgres> {
  if (config.DATABASE_URL !== undefined) {
    await checkPostgres(config.DATABASE_URL);
    return { url: config.DATABASE_URL, embedded: null, close: async () => undefined };
  }
  const folder = join(config.DATA_DIR, 'postgres');
  const embedded = await inDataFolder(folder, async () => {
    await makeFolder(folder);
    return startEmbeddedPostgres({
      folder,
      log: (line) => logger[isStartupProgress(line) ? 'info' : 'debug']({ postgres: line }, 'postgres'),
    });
  });
  return {
    url: embedded.url,
    embedded,
    close: async () => {
      await embedded.stop({ ifUnused: true });
    },
  };
}
