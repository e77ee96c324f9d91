/** The service in these tests: some processes on one log and one read model. Only this file starts them. */
import { Client } from '../support/client.ts';
import { createDatabase } from '../support/postgres.ts';
import { startServer, type TestServer } from '../support/server.ts';

export interface FaultDeployment {
  readonly servers: readonly TestServer[];
  /** A client of the first team for each server. */
  readonly clients: readonly Client[];
  readonly databaseUrl: string;
  /** Stops all processes. Rejects if one does not end cleanly. */
  stop(): Promise<void>;
}

/** Starts processes on one database: a new one, unless its URL is given. */
export async function deploy(processes: number, given?: string): Promise<FaultDeployment> {
  const database = given === undefined ? await createDatabase() : { url: given, drop: async () => undefined };
  const first = await startServer({ databaseUrl: database.url });
  const more = Array.from({ length: processes - 1 }, () => startServer({ databaseUrl: database.url }));
  const servers = [first, ...(await Promise.all(more))];
  const token = await first.token();
  return {
    servers,
    clients: servers.map(({ url }) => new Client(url, token)),
    databaseUrl: database.url,
    stop: async () => {
      const exitCodes = await Promise.all(servers.map((server) => server.stop()));
      await database.drop();
      if (exitCodes.some((exitCode) => exitCode !== 0)) {
        throw new Error(
          `the servers ended with ${exitCodes.join(', ')}:\n${servers.map((server) => server.output()).join('\n')}`,
        );
      }
    },
  };
}
