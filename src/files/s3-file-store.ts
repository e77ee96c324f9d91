/**
 * Files in a bucket of an S3: `arrived/<upload>` is what came for an upload, straight from the client to a presigned URL, and
 * `files/<name>` what was sealed. A presigned URL binds key, Content-Type and end, not the size: that is seen when it is sealed.
 */
import type { Readable } from 'node:stream';
import {
  CopyObjectCommand, DeleteObjectCommand, GetObjectCommand, HeadObjectCommand, ListObjectsV2Command, PutObjectCommand,
  S3Client, type GetObjectCommandOutput, type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { ConfigError } from '../app/config.ts';
import { isFileName } from './file-name.ts';
import { isUploadId, StoreAway, type ExpectedUpload, type FileStore, type StoredObject } from './file-store.ts';
import { explainS3, isS3Away, s3CodeOf, s3StatusOf } from './s3-errors.ts';

export interface S3FileStoreOptions {
  readonly bucket: string;
  /** Null: AWS, in this region. */
  readonly endpoint: string | null;
  /** Where clients reach it; null: at `endpoint`. */
  readonly publicEndpoint: string | null;
  readonly region: string;
  /** Null: what the SDK finds by itself. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | null;
  readonly isPathStyle: boolean;
  /** What all keys begin with; empty, or ends in `/`. */
  readonly prefix: string;
  /** The most requests at once: a client that reads slowly holds one all the while. */
  readonly requestsMax: number;
  /** How long bytes of a file may stand still while it is read, in milliseconds. */
  readonly idleTimeout: number;
}

/** How long a connection may take, and an answer to begin, in milliseconds; the latter for copies of up to 5 GiB. */
const connectionTimeout = 3000;
const answerTimeout = 10_000;
const copyTimeout = 60_000;

/** How often a request is tried that the S3 does not answer or is too busy for. */
const attemptsMax = 3;

/** How often bytes are sealed that are replaced by others just then. */
const sealsMax = 5;

export class S3FileStore implements FileStore {
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #client: S3Client;
  /** Only signs. */
  readonly #publicClient: S3Client;

  private constructor(options: S3FileStoreOptions) {
    this.#bucket = options.bucket;
    this.#prefix = options.prefix;
    this.#client = new S3Client(clientConfig(options, options.endpoint));
    this.#publicClient = new S3Client(clientConfig(options, options.publicEndpoint ?? options.endpoint));
  }

  /** Looks into the bucket. Rejects with ConfigError when that is refused, and with StoreAway when nobody answers, which may pass. */
  static async open(options: S3FileStoreOptions): Promise<S3FileStore> {
    const store = new S3FileStore(options);
    try {
      await store.#listKeys('', { keysMax: 1 });
      return store;
    } catch (error) {
      await store.close();
      // Nobody renews at the start what has run out before it.
      const problem = explainS3(error instanceof StoreAway ? error.cause : error, options.bucket);
      throw problem === null ? error : new ConfigError([problem], { cause: error });
    }
  }

  async locate({ uploadId, contentType, expiresAt }: ExpectedUpload, _origin: string): Promise<string> {
    const command = new PutObjectCommand({ Bucket: this.#bucket, Key: this.#keyOf({ kind: 'arrived', uploadId })!, ContentType: contentType });
    const expiresIn = Math.max(1, Math.ceil((expiresAt - Date.now()) / 1000));
    return inStore(() => getSignedUrl(this.#publicClient, command, { expiresIn, signableHeaders: new Set(['content-type', 'host']) }));
  }

  async seal(
    { uploadId, contentType, sizeMax }: Pick<ExpectedUpload, 'uploadId' | 'contentType' | 'sizeMax'>, name: string,
  ): Promise<{ readonly size: number } | null> {
    const arrived = this.#keyOf({ kind: 'arrived', uploadId });
    const file = this.#keyOf({ kind: 'file', name });
    if (file === null) throw new RangeError('this is no name of a file');
    if (arrived === null) return null;
    for (let seals = 0; seals < sealsMax; seals += 1) {
      const found = await unlessMissing(() => this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: arrived })));
      if (found === null) return null;
      const size = found.ContentLength!;
      // The S3 takes in whatever is sent: gigabytes would be copied only to be removed.
      if (size > sizeMax) return { size };
      // What the client's request said of it beyond its Content-Type is not taken over.
      const command = new CopyObjectCommand({
        Bucket: this.#bucket, Key: file, CopySource: `${this.#bucket}/${arrived}`, CopySourceIfMatch: found.ETag,
        MetadataDirective: 'REPLACE', ContentType: contentType,
      });
      try {
        if ((await unlessMissing(() => this.#client.send(command, { requestTimeout: copyTimeout }))) === null) return null;
        return { size };
      } catch (error) {
        if (s3StatusOf(error) !== preconditionFailed) throw error;
        // Other bytes arrived in between.
      }
    }
    throw new StoreAway({ cause: new Error('what arrived for an upload is replaced all the time') });
  }

  async read(name: string, range?: { readonly start: number; readonly end: number }): Promise<Readable | null> {
    const key = this.#keyOf({ kind: 'file', name });
    if (key === null) return null;
    const command = new GetObjectCommand({
      Bucket: this.#bucket, Key: key, ...(range && { Range: `bytes=${range.start}-${range.end}` }),
    });
    const found = await unlessMissing<GetObjectCommandOutput>(() => this.#client.send(command));
    return found === null ? null : found.Body as Readable;
  }

  async remove(object: StoredObject): Promise<void> {
    const key = this.#keyOf(object);
    if (key !== null) await inStore(() => this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key })));
  }

  async* list(before: number): AsyncIterable<StoredObject> {
    yield* this.#listObjects('files/', before, (name) => ({ kind: 'file', name }));
    yield* this.#listObjects('arrived/', before, (uploadId) => ({ kind: 'arrived', uploadId }));
  }

  async belongsTo(owner: string): Promise<boolean> {
    const place = { Bucket: this.#bucket, Key: `${this.#prefix}owner` };
    try {
      await inStore(() => this.#client.send(new PutObjectCommand({ ...place, Body: owner, IfNoneMatch: '*' })));
      return true;
    } catch (error) {
      // Two at once are told apart by a conflict: then the other was first.
      if (s3StatusOf(error) !== preconditionFailed && s3StatusOf(error) !== conflict) throw error;
      const found = await unlessMissing<GetObjectCommandOutput>(() => this.#client.send(new GetObjectCommand(place)));
      return (await found?.Body?.transformToString()) === owner;
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
    this.#publicClient.destroy();
  }

  async* #listObjects(folder: string, before: number, objectOf: (text: string) => StoredObject): AsyncIterable<StoredObject> {
    let after: string | undefined;
    do {
      const { Contents: found = [], NextContinuationToken } = await this.#listKeys(folder, { after });
      for (const { Key, LastModified } of found) {
        const object = objectOf(Key!.slice(this.#prefix.length + folder.length));
        // A key that this store does not give is not this store's.
        if (this.#keyOf(object) === Key && LastModified!.getTime() < before) yield object;
      }
      after = NextContinuationToken;
    } while (after !== undefined);
  }

  #listKeys(folder: string, { keysMax, after }: { readonly keysMax?: number; readonly after?: string | undefined }) {
    return inStore(() => this.#client.send(new ListObjectsV2Command({
      Bucket: this.#bucket, Prefix: this.#prefix + folder, MaxKeys: keysMax, ContinuationToken: after,
    })));
  }

  /** Null where the name is none that this store gives. A write to an S3 leaves nothing behind when it is cut. */
  #keyOf(object: StoredObject): string | null {
    switch (object.kind) {
      case 'file':
        return isFileName(object.name) ? `${this.#prefix}files/${object.name}` : null;
      case 'arrived':
        return isUploadId(object.uploadId) ? `${this.#prefix}arrived/${object.uploadId}` : null;
      case 'temporary':
        return null;
    }
  }
}

const preconditionFailed = 412;
const conflict = 409;

function clientConfig(options: S3FileStoreOptions, endpoint: string | null): S3ClientConfig {
  const { region, credentials, isPathStyle, requestsMax, idleTimeout } = options;
  return {
    region, forcePathStyle: isPathStyle, maxAttempts: attemptsMax,
    ...(endpoint !== null && { endpoint }), ...(credentials !== null && { credentials }),
    // Not all that speak S3 know its newer checksums, and a URL would bind the one of an empty body.
    requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: {
      connectionTimeout, requestTimeout: answerTimeout, throwOnRequestTimeout: true, socketTimeout: idleTimeout,
      httpAgent: { maxSockets: requestsMax }, httpsAgent: { maxSockets: requestsMax },
    },
  };
}

async function inStore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw isS3Away(error) ? new StoreAway({ cause: error as Error }) : error;
  }
}

/** Null where the object that it is about is not there. */
function unlessMissing<T>(work: () => Promise<T>): Promise<T | null> {
  return inStore(async () => {
    try {
      return await work();
    } catch (error) {
      if (['NoSuchKey', 'NotFound'].includes(s3CodeOf(error) ?? '')) return null;
      throw error;
    }
  });
}
