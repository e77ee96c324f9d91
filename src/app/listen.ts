/** Listens where the settings say, and explains failures in terms of the setting at fault. */
import type { Logger } from 'pino';
import { serveMetrics } from '../api/http/service/metrics.ts';
import type { CheckHealth } from '../api/http/service/health.ts';
import type { App } from '../api/http/server/app-type.ts';
import { untilClosed } from '../log/until-closed.ts';
import type { Metrics } from '../operations/metrics/metrics.ts';
import { ConfigError } from '../storage/config-error.ts';
import type { Config } from './config.ts';

interface Listener {
  readonly setting: 'PORT' | 'METRICS_PORT';
  readonly port: number;
  readonly open: (address: { readonly host: string; readonly port: number }) => Promise<unknown>;
}

interface ListenOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  /** What the probes on the port of the metrics say. */
  readonly checkHealth: CheckHealth;
  /** Closes the port of the metrics, if they have one. */
  readonly resources: AsyncDisposableStack;
  readonly logger: Logger;
}

/**
 * Serves the app, and the metrics where the settings give them a port of their own. Rejects with ConfigError if it
 * cannot listen, with a problem for each port.
 */
export async function listen(
  app: App,
  { config, metrics, checkHealth, resources, logger }: ListenOptions,
): Promise<void> {
  const listeners: Listener[] = [{ setting: 'PORT', port: config.PORT, open: (address) => app.listen(address) }];
  if (config.METRICS_PORT !== undefined) {
    listeners.push({
      setting: 'METRICS_PORT',
      port: config.METRICS_PORT,
      open: async (address) => {
        const close = await serveMetrics(metrics, checkHealth, address, logger);
        resources.defer(() => untilClosed('its metrics', close(), logger));
      },
    });
  }
  await openAll(config.HOST, listeners);
}

async function openAll(host: string, listeners: readonly Listener[]): Promise<void> {
  const results = await Promise.allSettled(listeners.map(({ port, open }) => open({ host, port })));
  const problems = results.flatMap((result, index) => {
    return result.status === 'rejected' ? [describeProblem(result.reason, host, listeners[index]!)] : [];
  });
  // A problem of the host is the same for all listeners.
  if (problems.length > 0) throw new ConfigError([...new Set(problems)]);
}

/** Rethrows an unknown error. */
function describeProblem(error: NodeJS.ErrnoException, host: string, { setting, port }: Listener): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `${setting}: port ${port} of ${host} is in use; stop what listens there, or set ${setting} to another port`;
    case 'EACCES':
      return `${setting}: this user may not listen on port ${port}; set ${setting} to another port, such as one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return `HOST: ${host} is no address of this machine; 127.0.0.1 is, and 0.0.0.0 is all of them`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
      return `HOST: the name ${host} cannot be resolved; name an address of this machine, such as 127.0.0.1`;
    default:
      throw error;
  }
}
