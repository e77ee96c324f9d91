/**
 * Jest's global setup: starts the shared Postgres, and the server through which test files use deployments of the
 * service.
 */
import { serveDeployments, type DeploymentServer } from './deployment-server.ts';
import { startSharedPostgres, type SharedPostgres } from './shared-postgres.ts';

declare global {
  // oxlint-disable-next-line no-var -- a global of the process that runs Jest
  var sharedPostgres: SharedPostgres | undefined;
  // oxlint-disable-next-line no-var -- a global of the process that runs Jest
  var deploymentServer: DeploymentServer | undefined;
}

export default async function startPostgres(): Promise<void> {
  if (globalThis.sharedPostgres) return;
  globalThis.sharedPostgres = await startSharedPostgres();
  process.env['TABLOG_TEST_POSTGRES'] = globalThis.sharedPostgres.url;
  process.stderr.write(`Postgres for the tests: ${globalThis.sharedPostgres.where}\n`);
  globalThis.deploymentServer = await serveDeployments();
  process.env['TABLOG_TEST_DEPLOYMENTS'] = globalThis.deploymentServer.url;
}
