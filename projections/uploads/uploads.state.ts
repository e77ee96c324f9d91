/** The uploads of a batch, and the files that its rows name: as loaded, and as changed by the events decided so far. */
import { fileNamesIn } from '../../src/files/file-name.ts';
import type { RowChange, TailRowsChange } from '../tables/table.ts';
import type { TeamStates } from '../teams/teams.state.ts';
import { PatchedReferences } from './patched-references.ts';
import type { Upload, SegmentReference } from './upload.ts';

/** What decisions about uploads read. */
export interface UploadStates extends TeamStates {
  readonly uploads: UploadsState;
}

export class UploadsState {
  readonly #uploads = new Map<string, Upload>();
  readonly #claims = new Map<string, boolean>();
  readonly #changed = new Map<string, Upload>();
  readonly #patched = new PatchedReferences();
  /** The files that rows name which have joined a tail. */
  readonly newReferences: SegmentReference[] = [];

  upload(uploadId: string): Upload | null {
    return this.#uploads.get(uploadId) ?? null;
  }

  /** Whether a row of one of its team's tables names the upload's file. */
  isClaimed({ id }: Upload): boolean {
    const isClaimed = this.#claims.get(id);
    if (isClaimed === undefined) throw new Error(`the claims on the file of upload ${id} were not loaded`);
    return isClaimed;
  }

  put(upload: Upload): void {
    this.#uploads.set(upload.id, upload);
  }

  /** Whether rows name the file of an upload, as it was before this batch. */
  putClaim(uploadId: string, isClaimed: boolean): void {
    this.#claims.set(uploadId, isClaimed);
  }

  change(upload: Upload): void {
    this.put(upload);
    this.#changed.set(upload.id, upload);
  }

  /** Rows have joined a tail. */
  followTailRows({ teamId, extent: { segment }, first, bodies }: TailRowsChange): void {
    bodies.forEach((body, at) => {
      for (const file of fileNamesIn(body)) this.newReferences.push({ teamId, segment, index: first + at, file });
    });
  }

  /** A row was patched or deleted. */
  followRow({ teamId, extent, index, before, body }: RowChange): void {
    this.#patched.replace({ teamId, extent: extent.key, index }, before, body);
  }

  changedUploads(): Upload[] {
    return [...this.#changed.values()];
  }

  /** The files that patched rows name now, and those that they name no longer. */
  get patched(): Pick<PatchedReferences, 'named' | 'gone'> {
    return this.#patched;
  }
}
