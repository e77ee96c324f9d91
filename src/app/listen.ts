/** Listens on the ports of the settings. Names the wrong setting in errors. */
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
  /** The answers of the probes on the port of the metrics. */
  readonly checkHealth: CheckHealth;
  /** Closes the port of the metrics, if they have one. */
  readonly resources: AsyncDisposableStack;
  readonly logger: Logger;
}

/**
 * Serves the app on PORT, and the metrics on METRICS_PORT if that is set. If it cannot listen, rejects with
 * ConfigError, which has a problem for each port.
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

/** The problem in words, with the setting at fault. Throws an unknown error again. */
function describeProblem(error: NodeJS.ErrnoException, host: string, { setting, port }: Listener): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return `${setting}: port ${port} of ${host} is in use; stop the program that listens there, or set ${setting} to another port`;
    case 'EACCES':
      return `${setting}: this user may not listen on port ${port}; set ${setting} to another port, such as one above 1023`;
    case 'EADDRNOTAVAIL':
    case 'EAFNOSUPPORT':
    case 'EINVAL':
      return `HOST: ${host} is not an address of this machine; use 127.0.0.1, or 0.0.0.0 for all of its addresses`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EAI_FAIL':
      return `HOST: the name ${host} cannot be resolved; use an address of this machine, such as 127.0.0.1`;
    default:
      throw error;
  }
}
