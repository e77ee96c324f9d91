/**
 * Opens the read model and the records of the log, for commands that work beside running services and do not project.
 */
import { readConfig } from '../app/config.ts';
import type { ReadModel } from '../app/service.ts';
import type { RecordLog } from '../log/event-log.ts';
import { newLogger } from './console.ts';

export async function withRecordLog<T>(work: (log: RecordLog, readModel: ReadModel) => Promise<T>): Promise<T> {
  // Imported on demand, so that commands that need neither start faster.
  const [{ openReadModel }, { openRecordLog }] = await Promise.all([
    import('../app/service.ts'),
    import('../app/open-log.ts'),
  ]);
  const config = readConfig();
  const logger = newLogger();
  await using resources = new AsyncDisposableStack();
  const readModel = await openReadModel(config, logger);
  resources.defer(() => readModel.close());
  const log = await openRecordLog(config, readModel.url, logger);
  resources.defer(() => log.close());
  return await work(log, readModel);
}
