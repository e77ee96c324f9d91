import { pino } from 'pino';
import { readConfig } from '../../src/app/config.ts';
import { openService, type Service } from '../../src/app/service.ts';

/**
 * Opens the service in this process, without HTTP or background work. `environment`: its settings. `projects`: whether it projects what is in Kafka, as no
 * other process does. The caller closes it.
 */
export async function openOperator(environment: Readonly<Record<string, string>>, { projects = false } = {}): Promise<Service> {
  const service = await openService(readConfig(environment), pino({ level: 'silent' }), new AbortController().signal, { projects });
  try {
    await service.log.caughtUp();
    return service;
  } catch (error) {
    await service.close();
    throw error;
  }
}
