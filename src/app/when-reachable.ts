/** Retries the start while Postgres, Kafka or the file store may be starting too. */
import pRetry from 'p-retry';
import type { pino } from 'pino';
import type { Config } from './config.ts';
import { describeFailure } from './describe-failure.ts';
import { isDatabaseAway } from '../storage/database/database-away.ts';
import { StoreAway } from '../storage/files/file-store.ts';
import { NotAppended } from '../log/event-log.ts';
import { isKafkaAway } from '../log/kafka/kafka-away.ts';

/** Retries a step of the start while Postgres, Kafka or the file store cannot be reached, for up to START_WAIT_MS. */
export function whenReachable<T>(
  work: () => Promise<T>,
  config: Config,
  logger: pino.Logger,
  signal: AbortSignal,
): Promise<T> {
  let told = '';
  return pRetry(work, {
    retries: Infinity,
    maxRetryTime: config.START_WAIT_MS,
    minTimeout: 200,
    maxTimeout: 2000,
    factor: 1.5,
    signal,
    shouldRetry: ({ error }) => {
      const mayPass =
        isDatabaseAway(error) || isKafkaAway(error) || error instanceof NotAppended || error instanceof StoreAway;
      const reason = describeFailure(error);
      // Log once for each reason, not for each attempt. Without the stack, which would not help to find the wrong
      // setting.
      if (mayPass && reason !== told) {
        logger.warn(`the service cannot start yet, and keeps trying for ${config.START_WAIT_MS / 1000} s: ${reason}`);
        told = reason;
      }
      return mayPass;
    },
  });
}

/**
 * Opens an object, and retries like `whenReachable`. Rejects with the last error if that takes longer than
 * START_WAIT_MS. Resolves to null if the signal aborts first.
 */
export async function openWhenReachable<T extends { close(): Promise<void> }>(
  open: () => Promise<T>,
  config: Config,
  logger: pino.Logger,
  signal: AbortSignal,
): Promise<T | null> {
  let opened: T | null = null;
  try {
    return await whenReachable(async () => (opened = await open()), config, logger, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    logger.info({ reason: signal.reason }, 'stopping before the start is complete');
    // `open` may have succeeded just when the signal aborted.
    await (opened as T | null)?.close();
    return null;
  }
}
