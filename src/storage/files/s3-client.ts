/** The client of an S3: for uploaded files, and for backups. */
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { StoreAway } from './file-store.ts';
import { isS3Away, s3CodeOf } from './s3-errors.ts';

export interface S3ClientOptions {
  /** Null: AWS, in this region. */
  readonly endpoint: string | null;
  readonly region: string;
  /** Null: the SDK's default providers. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
  readonly isPathStyle: boolean;
  /** Limit of concurrent requests. A reader counts until it has read its whole answer. */
  readonly requestsMax: number;
  /** How long a read may stall, in milliseconds. */
  readonly idleTimeout: number;
}

/** Time limits for connecting and for the beginning of an answer, in milliseconds. */
const connectionTimeout = 3000;
export const answerTimeout = 10_000;

/** How often a request is attempted if S3 does not answer or is busy. */
const attemptsMax = 3;

/** The configuration of a client for this endpoint; null: AWS. */
export function s3ClientConfig(options: S3ClientOptions, endpoint: string | null): S3ClientConfig {
  const { region, credentials, isPathStyle, requestsMax, idleTimeout } = options;
  return {
    region,
    forcePathStyle: isPathStyle,
    maxAttempts: attemptsMax,
    ...(endpoint !== null && { endpoint }),
    ...(credentials !== null && { credentials }),
    // Some S3 implementations lack the newer checksums, and a presigned URL would include the checksum of an empty
    // body.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout,
      requestTimeout: answerTimeout,
      throwOnRequestTimeout: true,
      socketTimeout: idleTimeout,
      httpAgent: { maxSockets: requestsMax },
      httpsAgent: { maxSockets: requestsMax },
    },
  };
}

/** Rejects with StoreAway when S3 cannot be reached or is full. */
export async function inStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isS3Away(error) ? new StoreAway({ cause: error as Error }) : error;
  }
}

/** Null if the object does not exist. */
export function unlessMissing<T>(work: () => Promise<T>): Promise<T | null> {
  return inStore(async () => {
    try {
      return await work();
    } catch (error) {
      if (['NoSuchKey', 'NotFound'].includes(s3CodeOf(error) ?? '')) return null;
      throw error;
    }
  });
}
