/**
 * Files in an S3 bucket. `arrived/<upload>` has the bytes that a client sent to a presigned URL, and `files/<name>` is
 * a sealed file. A presigned URL fixes key, Content-Type and expiry, but not the size, which `seal` checks.
 */
import type { Readable } from 'node:stream';
import {
  CopyObjectCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  type GetObjectCommandOutput,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { ConfigError } from '../config-error.ts';
import { isFileName } from './file-name.ts';
import { isUploadId, StoreAway, type ExpectedUpload, type FileStore, type StoredObject } from './file-store.ts';
import { inStore, s3ClientConfig, unlessMissing, type S3ClientOptions } from './s3-client.ts';
import { explainS3, s3StatusOf } from './s3-errors.ts';

interface S3FileStoreOptions extends S3ClientOptions {
  readonly bucket: string;
  /** The address for clients; null: `endpoint`. */
  readonly publicEndpoint: string | null;
  /** The prefix of all keys; empty, or ends in `/`. */
  readonly prefix: string;
}

/** Time limit for the answer to a copy of up to 5 GiB, in milliseconds. */
const copyTimeout = 60_000;

/** How often `seal` tries when the client keeps replacing the bytes. */
const sealsMax = 5;

export class S3FileStore implements FileStore {
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #client: S3Client;
  /** Only signs URLs. */
  readonly #publicClient: S3Client;

  private constructor(options: S3FileStoreOptions) {
    this.#bucket = options.bucket;
    this.#prefix = options.prefix;
    this.#client = new S3Client(s3ClientConfig(options, options.endpoint));
    this.#publicClient = new S3Client(s3ClientConfig(options, options.publicEndpoint ?? options.endpoint));
  }

  /**
   * Lists the bucket once. Rejects with ConfigError when S3 refuses that, and with StoreAway when it does not answer,
   * which may be temporary.
   */
  static async open(options: S3FileStoreOptions): Promise<S3FileStore> {
    const store = new S3FileStore(options);
    try {
      await store.#listKeys('', { keysMax: 1 });
      return store;
    } catch (error) {
      await store.close();
      // At the start, expired credentials are reported as a wrong setting.
      const problem = explainS3(error instanceof StoreAway ? error.cause : error, options.bucket);
      throw problem === null ? error : new ConfigError([problem], { cause: error });
    }
  }

  async locate({ uploadId, contentType, expiresAt }: ExpectedUpload, _origin: string): Promise<string> {
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: this.#keyOf({ kind: 'arrived', uploadId })!,
      ContentType: contentType,
    });
    const expiresIn = Math.max(1, Math.ceil((expiresAt - Date.now()) / 1000));
    return inStore(() =>
      getSignedUrl(this.#publicClient, command, { expiresIn, signableHeaders: new Set(['content-type', 'host']) }),
    );
  }

  async seal(
    { uploadId, contentType, sizeMax }: Pick<ExpectedUpload, 'uploadId' | 'contentType' | 'sizeMax'>,
    name: string,
  ): Promise<{ readonly size: number } | null> {
    const arrived = this.#keyOf({ kind: 'arrived', uploadId });
    const file = this.#keyOf({ kind: 'file', name });
    if (file === null) throw new RangeError('this is no name of a file');
    if (arrived === null) return null;
    for (let seals = 0; seals < sealsMax; seals += 1) {
      const found = await unlessMissing(() =>
        this.#client.send(new HeadObjectCommand({ Bucket: this.#bucket, Key: arrived })),
      );
      if (found === null) return null;
      const size = found.ContentLength!;
      // S3 accepts any size, so check it before copying gigabytes that would only be removed.
      if (size > sizeMax) return { size };
      // REPLACE drops the metadata that the client sent. So set Content-Type again.
      const command = new CopyObjectCommand({
        Bucket: this.#bucket,
        Key: file,
        CopySource: `${this.#bucket}/${arrived}`,
        CopySourceIfMatch: found.ETag,
        MetadataDirective: 'REPLACE',
        ContentType: contentType,
      });
      try {
        if ((await unlessMissing(() => this.#client.send(command, { requestTimeout: copyTimeout }))) === null)
          return null;
        return { size };
      } catch (error) {
        if (s3StatusOf(error) !== preconditionFailed) throw error;
        // Other bytes arrived between HEAD and COPY: try again.
      }
    }
    throw new StoreAway({
      cause: new Error('the client replaced the bytes of an upload during every attempt to seal them'),
    });
  }

  async read(name: string, range?: { readonly start: number; readonly end: number }): Promise<Readable | null> {
    const key = this.#keyOf({ kind: 'file', name });
    if (key === null) return null;
    const command = new GetObjectCommand({
      Bucket: this.#bucket,
      Key: key,
      ...(range && { Range: `bytes=${range.start}-${range.end}` }),
    });
    const found = await unlessMissing<GetObjectCommandOutput>(() => this.#client.send(command));
    return found === null ? null : (found.Body as Readable);
  }

  async remove(object: StoredObject): Promise<void> {
    const key = this.#keyOf(object);
    if (key !== null)
      await inStore(() => this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key })));
  }

  async *list(before: number): AsyncIterable<StoredObject> {
    yield* this.#listObjects('files/', before, (name) => ({ kind: 'file', name }));
    yield* this.#listObjects('arrived/', before, (uploadId) => ({ kind: 'arrived', uploadId }));
  }

  async belongsTo(owner: string): Promise<boolean> {
    const place = { Bucket: this.#bucket, Key: `${this.#prefix}owner` };
    try {
      await inStore(() => this.#client.send(new PutObjectCommand({ ...place, Body: owner, IfNoneMatch: '*' })));
      return true;
    } catch (error) {
      // 409 means that a concurrent request was first.
      if (s3StatusOf(error) !== preconditionFailed && s3StatusOf(error) !== conflict) throw error;
      const found = await unlessMissing<GetObjectCommandOutput>(() => this.#client.send(new GetObjectCommand(place)));
      return (await found?.Body?.transformToString()) === owner;
    }
  }

  async close(): Promise<void> {
    this.#client.destroy();
    this.#publicClient.destroy();
  }

  async *#listObjects(
    folder: string,
    before: number,
    objectOf: (text: string) => StoredObject,
  ): AsyncIterable<StoredObject> {
    let after: string | undefined;
    do {
      const { Contents: found = [], NextContinuationToken } = await this.#listKeys(folder, { after });
      for (const { Key, LastModified } of found) {
        const object = objectOf(Key!.slice(this.#prefix.length + folder.length));
        // Ignores keys that this store does not create.
        if (this.#keyOf(object) === Key && LastModified!.getTime() < before) yield object;
      }
      after = NextContinuationToken;
    } while (after !== undefined);
  }

  #listKeys(folder: string, { keysMax, after }: { readonly keysMax?: number; readonly after?: string | undefined }) {
    return inStore(() =>
      this.#client.send(
        new ListObjectsV2Command({
          Bucket: this.#bucket,
          Prefix: this.#prefix + folder,
          MaxKeys: keysMax,
          ContinuationToken: after,
        }),
      ),
    );
  }

  /** Null if this store does not create such keys. An aborted write to S3 leaves nothing behind. */
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
