/** Backups in an S3 bucket. */
import { Readable } from 'node:stream';
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import {
  answerTimeout,
  inStore,
  s3ClientConfig,
  unlessMissing,
  type S3ClientOptions,
} from '../../storage/files/s3-client.ts';
import { explainS3 } from '../../storage/files/s3-errors.ts';
import { StoreAway } from '../../storage/files/file-store.ts';
import { BackupError, type BackupStore, type KeptObject } from './backup-store.ts';

interface S3BackupOptions extends S3ClientOptions {
  readonly bucket: string;
  /** The prefix of all keys; empty, or ends in `/`. */
  readonly prefix: string;
}

/** A connection slower than this counts as lost, in bytes a millisecond. */
const slowest = 100;

export class S3BackupStore implements BackupStore {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  private constructor({ bucket, prefix, ...options }: S3BackupOptions) {
    this.#client = new S3Client(s3ClientConfig(options, options.endpoint));
    this.#bucket = bucket;
    this.#prefix = prefix;
  }

  /**
   * Opens the bucket and lists it once. Rejects with BackupError when S3 refuses that, and with StoreAway when it does
   * not answer.
   */
  static async open(options: S3BackupOptions): Promise<S3BackupStore> {
    const store = new S3BackupStore(options);
    try {
      await inStore(() =>
        store.#client.send(new ListObjectsV2Command({ Bucket: options.bucket, Prefix: options.prefix, MaxKeys: 1 })),
      );
      return store;
    } catch (error) {
      await store.close();
      const problem = explainS3(error instanceof StoreAway ? error.cause : error, options.bucket);
      throw problem === null ? error : new BackupError(problem, { cause: error });
    }
  }

  async put(name: string, content: Uint8Array | AsyncIterable<Uint8Array>, size: number): Promise<void> {
    const body = content instanceof Uint8Array ? content : Readable.from(content, { objectMode: false });
    const command = new PutObjectCommand({ ...this.#at(name), Body: body, ContentLength: size });
    await inStore(() => this.#client.send(command, { requestTimeout: answerTimeout + size / slowest }));
  }

  async read(name: string): Promise<Readable | null> {
    const found = await unlessMissing(() => this.#client.send(new GetObjectCommand(this.#at(name))));
    return found === null ? null : (found.Body as Readable);
  }

  async find(name: string): Promise<KeptObject | null> {
    const found = await unlessMissing(() => this.#client.send(new HeadObjectCommand(this.#at(name))));
    return found === null ? null : { name, storedAt: found.LastModified!.getTime() };
  }

  async *list(folder: string): AsyncIterable<KeptObject> {
    let after: string | undefined;
    do {
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: this.#prefix + folder,
        ContinuationToken: after,
      });
      const { Contents: found = [], NextContinuationToken } = await inStore(() => this.#client.send(command));
      for (const { Key, LastModified } of found)
        yield { name: Key!.slice(this.#prefix.length), storedAt: LastModified!.getTime() };
      after = NextContinuationToken;
    } while (after !== undefined);
  }

  async remove(name: string): Promise<void> {
    await inStore(() => this.#client.send(new DeleteObjectCommand(this.#at(name))));
  }

  async close(): Promise<void> {
    this.#client.destroy();
  }

  #at(name: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + name };
  }
}
