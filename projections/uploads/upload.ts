/** What uploads are, how they change, and what says that a row names a file. */
import type { StoredFile } from '../../src/events/event.ts';
import type { FileReference } from '../../src/files/file-name.ts';
import type { TeamChange } from '../teams/team.ts';

/** An upload, from its creation on for good. */
export interface Upload {
  readonly id: string;
  readonly teamId: string;
  readonly appId: string;
  readonly contentType: string;
  readonly fileName: string;
  readonly created: bigint;
  /** Times of the log, in milliseconds: of its creation, and from which on it cannot be completed. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly sizeMax: number;
  readonly unclaimedLifeMs: number;
  /** Null until it is completed. One that was refused then has it too, so that its bytes are removed. */
  readonly file: StoredFile | null;
  /** Since when no row is known to name its file; null while one does, and before it is completed. */
  readonly unclaimedSince: number | null;
  /** When its file was given up; null while it is there or expected. */
  readonly removedAt: number | null;
}

export type UploadChange = TeamChange | { readonly kind: 'upload'; readonly upload: Upload };

/** A file that a row of a segment names. */
export interface SegmentReference extends FileReference {
  /** Whose rows they are. */
  readonly teamId: string;
  readonly segment: bigint;
}

/** A row that was patched or deleted. */
export interface PatchedRow {
  /** Whose row it is. */
  readonly teamId: string;
  readonly extent: bigint;
  readonly index: number;
}

/** A file that the newest body of a row of an extent names. */
export interface ChangeReference extends PatchedRow {
  readonly file: string;
}
