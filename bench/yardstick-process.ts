/** A yardstick as a child process: see `yardstick.ts` and `queries/yardstick.ts`. */
import { join } from 'node:path';
import { startServer } from './processes.ts';
import type { Service } from './service-processes.ts';

/** Starts a yardstick on a database; `resources` stops it. `script` is its file in this folder. */
export async function startYardstick(
  databaseUrl: string,
  logFile: string,
  resources: AsyncDisposableStack,
  signal: AbortSignal,
  script = 'yardstick.ts',
): Promise<Service> {
  const token = 'yardstick';
  const server = await startServer(
    {
      name: 'yardstick',
      nodeArguments: [join(import.meta.dirname, script)],
      environment: { DATABASE_URL: databaseUrl, TOKEN: token },
      logFile,
    },
    resources,
    signal,
  );
  return { processes: [server], target: { ports: [server.port], token } };
}
