/** Where backups are kept: objects with names, in a folder or in an S3 bucket. */
import type { Readable } from 'node:stream';

/** An object in the store. */
export interface KeptObject {
  readonly name: string;
  /** When it was stored, in milliseconds since 1970 by the store's clock. */
  readonly storedAt: number;
}

/**
 * Names have the form `packs/ab/abcd...`. A name is written whole or not at all, and what was written survives a power
 * failure.
 */
export interface BackupStore {
  /**
   * Stores an object of `size` bytes, at most 5 GiB as S3 takes in one piece, in the place of one that has this name.
   */
  put(name: string, content: Uint8Array | AsyncIterable<Uint8Array>, size: number): Promise<void>;
  /** Null if there is none. The caller reads the stream to its end or destroys it. */
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
 * Told how far taking, verifying or restoring a backup is: that `done` of `of` things of this kind are behind it. `of`
 * null: nobody knows how many there are.
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
