/** The place of backups: objects with names, in a folder or in an S3 bucket. */
import type { Readable } from 'node:stream';

/** An object in the store. */
export interface KeptObject {
  readonly name: string;
  /** When it was stored, in milliseconds since 1970 by the store's clock. */
  readonly storedAt: number;
}

/** Names have the form `packs/ab/abcd...`. An object is stored whole or not at all, and survives a power failure. */
export interface BackupStore {
  /**
   * Stores an object of `size` bytes. An object of the same name is replaced. At most 5 GiB, because S3 takes no more
   * in one request.
   */
  put(name: string, content: Uint8Array | AsyncIterable<Uint8Array>, size: number): Promise<void>;
  /**
   * The content of an object; null if there is none of this name. The caller must read the stream to its end or destroy
   * it.
   */
  read(name: string): Promise<Readable | null>;
  /** Null if there is none. */
  find(name: string): Promise<KeptObject | null>;
  /** All objects whose names begin with a folder, such as `packs/`, in no order. */
  list(folder: string): AsyncIterable<KeptObject>;
  /** Removing a missing object is no error. */
  remove(name: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Called with the progress of taking, verifying or restoring a backup: `done` of `of` things of this kind are done.
 * `of` is null if their number is unknown.
 */
export type OnProgress = (kind: ProgressKind, done: number, of: number | null) => void;
type ProgressKind =
  | 'packs'
  | 'digested rows'
  | 'pieces of tables'
  | 'records of the log'
  | 'rows of all tables'
  | 'indexes'
  | 'uploaded files';

/** The backup is damaged, or cannot be used for this command. */
export class BackupError extends Error {
  override readonly name = 'BackupError';
}
