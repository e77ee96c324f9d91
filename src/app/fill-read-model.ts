/**
 * Fills the read model of a new version when a process starts, while processes of the old version serve from theirs.
 */
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

/** How many events are projected per batch. The result does not depend on it. */
const batchEvents = 500;

/** Interval of progress lines in the log of the process, in milliseconds. */
const tellInterval = 10_000;

interface FillReadModelOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly progress: FillProgress;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * If the read model is far behind, brings it close to the end of the log before the process opens the log. Serves
 * health and metrics meanwhile. Does nothing in a process with the role `api`, which waits for the projectors instead.
 * Rejects as `fill` does, and with ConfigError.
 */
export async function fillReadModel(
  { url, database }: Pick<ReadModel, 'url' | 'database'>,
  { config, metrics, progress, logger, signal }: FillReadModelOptions,
): Promise<void> {
  if (config.ROLE === 'api') return;
  // With the log in Kafka, this means that some process has projected it to its end. Then this process shares the
  // partitions with others instead of filling.
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
  logger.info(
    `fills the read model ${database.schema} from the log; processes with another read model continue to serve`,
  );
  await fill({ url, database, log, batchEvents, onProgress, signal, listener: listenerOf(logger, metrics.log) });
  logger.info('the read model is filled');
}
