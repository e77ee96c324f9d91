/** kafkajs as this project uses it: with zstd, patched, and configured for few retries. */
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, { type Admin, type Kafka, type KafkaConfig, type SASLOptions } from 'kafkajs';
import pRetry from 'p-retry';
import type { Logger } from 'pino';
import { patchKafkajs } from './kafkajs-internals.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** The connection to the brokers, and the topic of the log. */
export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly topic: string;
  /** The consumer group that assigns the partitions. */
  readonly group: string;
  /** Minimum replication factor of the log; undefined: three, or the number of brokers if there are fewer. */
  readonly replicas: number | undefined;
  readonly ssl: NonNullable<KafkaConfig['ssl']>;
  readonly sasl: SASLOptions | undefined;
}

/** Request timeout in milliseconds, in addition to the wait that the request itself asks for. */
const requestTimeout = 10_000;
const connectionTimeout = 3000;

/** Limit of one decompressed batch of records, in bytes: brokers accept batches of about a megabyte. */
const inflatedBytesMax = 64 * 1024 * 1024;

/** Registers zstd with kafkajs: brokers may have compressed the log with it. */
function registerZstd(): void {
  const compress = promisify(zstdCompress);
  const decompress = promisify(zstdDecompress);
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => compress(buffer),
    decompress: (buffer: Buffer) => decompress(buffer, { maxOutputLength: inflatedBytesMax }),
  });
}

registerZstd();
patchKafkajs();

/** Creates a client. It retries little: its callers know whether a retry is safe, and for how long it is worthwhile. */
export function createKafka({ brokers, ssl, sasl }: KafkaSettings, logger: Logger): Kafka {
  return new kafkajs.Kafka({
    clientId: 'tablog',
    brokers: [...brokers],
    ssl,
    ...(sasl && { sasl }),
    requestTimeout,
    connectionTimeout,
    retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 1000 },
    logLevel: kafkajs.logLevel.INFO,
    logCreator:
      () =>
      ({ level, log }) => {
        const { message, timestamp: _timestamp, logger: _logger, ...details } = log;
        // kafkajs goes on to retry requests that it logs as errors, and the caller gets the final error.
        logger[level === kafkajs.logLevel.ERROR ? 'warn' : 'debug']({ kafka: details }, `kafkajs: ${message}`);
      },
  });
}

/**
 * Retries a startup operation that brokers refuse for a moment, while they elect leaders of a new topic or the group
 * coordinator. Use it only for operations that may run twice.
 */
export function whenSettled<T>(work: () => Promise<T>): Promise<T> {
  return pRetry(work, {
    retries: 30,
    minTimeout: 100,
    factor: 1.5,
    maxTimeout: 1000,
    shouldRetry: ({ error }) => {
      const { name, retriable } = error as { name?: string; retriable?: boolean };
      // Unreachable brokers are not retried, because an operator must hear of that at once.
      return retriable === true && name === 'KafkaJSProtocolError';
    },
  });
}

/** Lends an admin connection. */
export async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
