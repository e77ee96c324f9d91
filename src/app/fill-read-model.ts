/** Fills the read model of a new version when a process starts, while those of the old version serve from theirs. */
import type { Logger } from 'pino';
import { listenerOf } from '../log/projection-listener.ts';
import { readProgress } from '../log/progress/progress.store.ts';
import { AddressLimit } from '../api/http/limits/address-limit.ts';
import { buildFillingApp } from '../api/http/server/filling-app.ts';
import type { Health } from '../api/http/service/health.ts';
import { metricsRoute } from '../api/http/service/metrics.ts';
import type { Metrics } from '../operations/metrics/metrics.ts';
import { fill, isFarBehind } from '../operations/replay/fill.ts';
import type { FillProgress } from '../operations/replay/fill-progress.ts';
import type { Config } from './config.ts';
import { listen } from './listen.ts';
import { openOrCreateRecords } from './open-log.ts';
import type { ReadModel } from './service.ts';

/** How many events are projected at once. The result does not depend on it. */
const batchEvents = 500;

/** How often the log of the process says how far it is, in milliseconds. */
const tellInterval = 10_000;

interface FillReadModelOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly progress: FillProgress;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Brings a read model that is far behind close to the end of the log, before the log is opened; health and metrics are
 * served meanwhile. A process that only answers requests opens the log, and waits for the others. Rejects as `fill`
 * does, and with ConfigError.
 */
export async function fillReadModel(
  { url, database }: Pick<ReadModel, 'url' | 'database'>,
  { config, metrics, progress, logger, signal }: FillReadModelOptions,
): Promise<void> {
  if (config.ROLE === 'api') return;
  // With the log in Kafka: a process has projected it to its end, so that one which joins has to share the partitions
  // with others.
  if ((await readProgress(database.pool)).every(({ caughtUp }) => caughtUp)) return;
  await using resources = new AsyncDisposableStack();
  const log = resources.adopt(await openOrCreateRecords(config, database, url, logger), (opened) => opened.close());
  const onProgress = (events: number, ofEvents: number): void => progress.update(events, ofEvents);
  resources.defer(() => progress.end());
  if (!(await isFarBehind({ database, log, onProgress }))) return;
  const app = buildFillingApp({
    config,
    log: logger,
    observer: metrics.requests,
    publicLimit: AddressLimit.of('public_requests', config, metrics.requests),
    describe: () => progress.describe(),
    routes: config.METRICS_PORT === undefined ? [metricsRoute(metrics)] : [],
  });
  resources.defer(() => app.close());
  const checkHealth = (): Health => ({ notReady: [progress.describe()], problems: [] });
  await listen(app, { config, metrics, checkHealth, resources, logger });
  const telling = setInterval(() => logger.info(progress.describe()), tellInterval);
  resources.defer(() => clearInterval(telling));
  logger.info(`fills the read model ${database.schema} from the log; processes with another one go on serving`);
  await fill({ url, database, log, batchEvents, onProgress, signal, listener: listenerOf(logger, metrics.log) });
  logger.info('the read model is filled');
}
