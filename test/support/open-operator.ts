import { pino } from 'pino';
import { readConfig } from '../../src/app/config.ts';
import { openService, type Service } from '../../src/app/service.ts';
import { whenReachable } from '../../src/app/when-reachable.ts';

/**
 * Opens the service in this process, without HTTP or background work. `environment`: its settings. `projects`: whether
 * it projects the log in Kafka, if no other process does. The caller closes it.
 */
export async function openOperator(
  environment: Readonly<Record<string, string>>,
  { projects = false } = {},
): Promise<Service> {
  const [config, logger, { signal }] = [readConfig(environment), pino({ level: 'silent' }), new AbortController()];
  const service = await whenReachable(() => openService(config, logger, signal, { projects }), config, logger, signal);
  try {
    await service.log.caughtUp();
    return service;
  } catch (error) {
    await service.close();
    throw error;
  }
}
