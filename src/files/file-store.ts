/** The bytes of uploads: what has arrived for an upload, and the files that were made of it. Knows neither teams nor the log. */
import type { Readable } from 'node:stream';

/** An upload whose bytes are to come. */
export interface ExpectedUpload {
  /** A UUID, in lower case. */
  readonly uploadId: string;
  /** The media type that the bytes must be sent as. */
  readonly contentType: string;
  /** The most bytes that it may have. */
  readonly sizeMax: number;
  /** Until when bytes can be sent, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/** What lies in a store. */
export type StoredObject =
  /** A sealed file. */
  | { readonly kind: 'file'; readonly name: string }
  /** What has arrived for an upload. */
  | { readonly kind: 'arrived'; readonly uploadId: string }
  /** What a write left behind that was cut by the end of its process. */
  | { readonly kind: 'temporary'; readonly name: string };

/**
 * Where bytes arrive and files are kept. Every method rejects with StoreAway while the store cannot be reached or is full.
 *
 * Bytes arrive at the place that `locate` names, as often as they are sent. `seal` makes a file of them, which nothing
 * changes any more; a file that nobody came to know of, because what would have said so was refused or never written down, is
 * found by `list` and removed.
 */
export interface FileStore {
  /** The absolute URL that the client sends the bytes to, with PUT. `origin`: the address at which it reached this service. */
  locate(upload: ExpectedUpload, origin: string): Promise<string>;
  /**
   * Makes what has arrived for an upload the file of this name (`newFileName`): bytes that arrive later do not change it. Null
   * where nothing has arrived whole. Can be repeated with other names. Gives the size in bytes; where that is more than `sizeMax`, no
   * file need have been made: such an upload is only to be refused, and removing its file is no error.
   */
  seal(upload: Pick<ExpectedUpload, 'uploadId' | 'contentType' | 'sizeMax'>, name: string): Promise<{ readonly size: number } | null>;
  /**
   * The bytes of a sealed file, all of them or those from `start` to `end`, both included and within the file. Null where there
   * is no such file. The stream is the caller's, to be read to its end or destroyed.
   */
  read(name: string, range?: { readonly start: number; readonly end: number }): Promise<Readable | null>;
  /** It is no error where there is nothing. */
  remove(object: StoredObject): Promise<void>;
  /** All that was stored before `before`, in milliseconds since 1970, by the store's clock; a bounded part of it in memory at a time. */
  list(before: number): AsyncIterable<StoredObject>;
  /**
   * Notes whose files these are, unless that is noted already, and gives whether they are this owner's (a UUID): of another's files
   * nobody here knows which are needed.
   */
  belongsTo(owner: string): Promise<boolean>;
  close(): Promise<void>;
}

/** The store cannot be reached or is full. May pass. */
export class StoreAway extends Error {
  override readonly name = 'StoreAway';

  constructor(options: { readonly cause: Error }) {
    const { message, name } = options.cause;
    super(`The store of files cannot be used: ${message || name}`, options);
  }
}

/** Whether it is an upload's ID, as it is written everywhere. */
export function isUploadId(text: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}
