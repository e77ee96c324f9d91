/** Uploads and their changes, and the references of rows to files. */
import type { StoredFile } from '../../src/language/events/upload-events.ts';
import type { FileReference } from '../../src/storage/files/file-name.ts';
import type { TeamChange } from '../teams/team.ts';

/** An upload. Never removed. */
export interface Upload {
  readonly id: string;
  readonly teamId: string;
  readonly appId: string;
  readonly contentType: string;
  readonly fileName: string;
  readonly created: bigint;
  /** Log times in milliseconds: of its creation, and from when on it cannot be completed. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly sizeMax: number;
  readonly unclaimedLifeMs: number;
  /** Null until the upload is completed. Also set if the completion was refused, so that the bytes are removed. */
  readonly file: StoredFile | null;
  /** Since when no row is known to name the file. Null while a row names it, and before the upload is completed. */
  readonly unclaimedSince: number | null;
  /** When it was given up; null before that. */
  readonly removedAt: number | null;
}

export type UploadChange = TeamChange | { readonly kind: 'upload'; readonly upload: Upload };

/** A reference of a segment's row to a file. */
export interface SegmentReference extends FileReference {
  /** The team that owns the row. */
  readonly teamId: string;
  readonly segment: bigint;
}

/** A patched or deleted row. */
export interface PatchedRow {
  /** The team that owns the row. */
  readonly teamId: string;
  readonly extent: bigint;
  readonly index: number;
}

/** A reference of a row's newest body to a file. */
export interface ChangeReference extends PatchedRow {
  readonly file: string;
}
