/** The Kafka client as this project uses it: kafkajs with what it lacks, and without what it does too much of. */
import { promisify } from 'node:util';
import { zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, { type Admin, type Kafka, type KafkaConfig, type SASLOptions } from 'kafkajs';
import pRetry from 'p-retry';
import type { Logger } from 'pino';
import { patchKafkajs } from './kafkajs-internals.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** How the brokers are reached, and where the log is in them. */
export interface KafkaSettings {
  readonly brokers: readonly string[];
  readonly topic: string;
  /** The consumer group that shares the partitions out. */
  readonly group: string;
  /** How many copies of the log there must be at least; undefined: three, or as many as there are brokers. */
  readonly replicas: number | undefined;
  readonly ssl: NonNullable<KafkaConfig['ssl']>;
  readonly sasl: SASLOptions | undefined;
}

/** How long a broker may take to answer, beyond what it was asked to wait for, in milliseconds. */
const requestTimeout = 10_000;
const connectionTimeout = 3000;

/** What one compressed batch of records may grow to: brokers take batches of about a megabyte. */
const inflatedBytesMax = 64 * 1024 * 1024;

/** Tells kafkajs of zstd, which brokers may have compressed the log with. */
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

/**
 * A client of the brokers. It tries little by itself: whoever uses it knows whether trying again is safe, and for how
 * long it is worth it.
 */
export function createKafka({ brokers, ssl, sasl }: KafkaSettings, logger: Logger): Kafka {
  return new kafkajs.Kafka({
    clientId: 'tablog', brokers: [...brokers], ssl, ...(sasl && { sasl }), requestTimeout, connectionTimeout,
    retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 1000 },
    logLevel: kafkajs.logLevel.INFO,
    logCreator: () => ({ level, log }) => {
      const { message, timestamp: _timestamp, logger: _logger, ...details } = log;
      // What it calls an error it goes on to try again, and whoever asked for it hears of it.
      logger[level === kafkajs.logLevel.ERROR ? 'warn' : 'debug']({ kafka: details }, `kafkajs: ${message}`);
    },
  });
}

/**
 * Does something at the start that brokers refuse for a moment: while a topic has just been made and its leaders are being
 * elected, or while the coordinator of groups is. To be used only for what may be done twice.
 */
export function whenSettled<T>(work: () => Promise<T>): Promise<T> {
  return pRetry(work, {
    retries: 30, minTimeout: 100, factor: 1.5, maxTimeout: 1000,
    shouldRetry: ({ error }) => {
      const { name, retriable } = error as { name?: string; retriable?: boolean };
      // Not reaching a broker at all is something that an operator wants to hear at once.
      return retriable === true && name === 'KafkaJSProtocolError';
    },
  });
}

/** Lends a connection for the administration of brokers. */
export async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}
