/**
 * Stores the bytes that have arrived for uploads, and the files sealed from them. It knows neither teams nor the log.
 */
import type { Readable } from 'node:stream';

/**
 * How many bytes of a file a store reads at once. More than Node's default makes reading a large file a quarter faster.
 */
export const readBytes = 256 * 1024;

/** An upload whose bytes are yet to arrive. */
export interface ExpectedUpload {
  /** A UUID, in lower case. */
  readonly uploadId: string;
  /** The required media type of the bytes. */
  readonly contentType: string;
  /** The maximum size, in bytes. */
  readonly sizeMax: number;
  /** The deadline for sending bytes, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** An object in a store. */
export type StoredObject =
  /** A sealed file. */
  | { readonly kind: 'file'; readonly name: string }
  /** The bytes that have arrived for an upload. */
  | { readonly kind: 'arrived'; readonly uploadId: string }
  /** The remains of a write whose process was killed. */
  | { readonly kind: 'temporary'; readonly name: string };

/**
 * Receives the bytes of uploads, and keeps files. Every method rejects with StoreAway when the store cannot be reached
 * or is full.
 *
 * Bytes arrive at the URL of `locate`, and can be sent repeatedly. `seal` makes an immutable file of them. A file that
 * no event references, because the event was refused or never appended, is an orphan: found by `list`, and removed.
 */
export interface FileStore {
  /**
   * The absolute URL for the client's PUT of the bytes. `origin`: the address at which the client reached this service.
   */
  locate(upload: ExpectedUpload, origin: string): Promise<string>;
  /**
   * Makes the arrived bytes of an upload the file of this name (`newFileName`). Bytes that arrive later do not change
   * the file. Can be repeated with other names. Resolves to the size in bytes, and to null if no bytes have arrived
   * completely. If the size exceeds `sizeMax`, the file may be missing: the caller must refuse such an upload, and
   * removing its file is no error.
   */
  seal(
    upload: Pick<ExpectedUpload, 'uploadId' | 'contentType' | 'sizeMax'>,
    name: string,
  ): Promise<{ readonly size: number } | null>;
  /**
   * The bytes of a sealed file, or of the range from `start` to `end`, both inclusive and within the file. Null if
   * there is no such file. The caller must read the stream to its end or destroy it.
   */
  read(name: string, range?: { readonly start: number; readonly end: number }): Promise<Readable | null>;
  /** Removing a missing object is no error. */
  remove(object: StoredObject): Promise<void>;
  /**
   * All objects stored before `before`, in milliseconds since 1970 by the store's clock; streamed in bounded memory.
   */
  list(before: number): AsyncIterable<StoredObject>;
  /**
   * Records the owner of the store (a UUID) if it has none. Resolves to whether `owner` is the recorded one. If it is
   * not, no file may be removed: this process cannot know which files the other owner needs.
   */
  belongsTo(owner: string): Promise<boolean>;
  close(): Promise<void>;
}

/** The store cannot be reached or is full, perhaps temporarily. */
export class StoreAway extends Error {
  override readonly name = 'StoreAway';

  constructor(options: { readonly cause: Error }) {
    const { message, name } = options.cause;
    super(`The store of files cannot be used: ${message || name}`, options);
  }
}

/** Whether the text is an upload ID in canonical spelling. */
export function isUploadId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
