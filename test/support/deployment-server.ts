/**
 * Lets test files request deployments: each request calls a method of `Deployments`, with its name and arguments as
 * JSON.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Deployments } from './deployments.ts';

export interface DeploymentServer {
  readonly url: string;
  /** Stops all remaining deployments. Rejects if one does not end cleanly. */
  stop(): Promise<void>;
}

interface Call {
  readonly method: keyof Deployments;
  readonly args: readonly unknown[];
}

export async function serveDeployments(): Promise<DeploymentServer> {
  let deployments: Promise<Deployments> | undefined;
  const call = async ({ method, args }: Call): Promise<unknown> => {
    // Loaded lazily, because suites without an API do not need the service.
    deployments ??= import('./deployments.ts').then((loaded) => new loaded.Deployments());
    const found = (await deployments) as unknown as Record<string, (...args: readonly unknown[]) => Promise<unknown>>;
    return found[method]!(...args);
  };
  const server = createServer((request, response) => {
    const answer = (status: number, body: unknown): void => void response.writeHead(status).end(JSON.stringify(body));
    json(request)
      .then((asked) => call(asked as Call))
      .then(
        (result) => answer(200, { result }),
        (error: unknown) => answer(500, { error: error instanceof Error ? error.stack : String(error) }),
      );
  });
  // Disabled: if a connection closed just as a test file sends a request, the file would fail.
  server.keepAliveTimeout = 0;
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await (await deployments)?.stopAll();
    },
  };
}

type Methods = { [Method in keyof Deployments]: Deployments[Method] };

/** Calls a method of the `Deployments` of this run. */
export async function callDeployments<Method extends keyof Methods>(
  method: Method,
  ...args: Parameters<Methods[Method]>
): Promise<Awaited<ReturnType<Methods[Method]>>> {
  const url = process.env['TABLOG_TEST_DEPLOYMENTS'];
  if (!url) throw new Error('there are no deployments: see test/support/start-postgres.ts');
  const response = await fetch(url, { method: 'POST', body: JSON.stringify({ method, args }) });
  const { result, error } = (await response.json()) as { result: Awaited<ReturnType<Methods[Method]>>; error?: string };
  if (error !== undefined) throw new Error(error);
  return result;
}
