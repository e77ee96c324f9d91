/** The uploads of a batch, and the files that its rows name: as loaded, and as changed by the events decided so far. */
import { fileNamesIn } from '../../src/storage/files/file-name.ts';
import { UndoMap, type UndoJournal } from '../../src/log/batch/undo-journal.ts';
import type { RowChange, TailRowsChange } from '../tables/table.ts';
import type { TeamStates } from '../teams/teams.state.ts';
import { PatchedReferences } from './patched-references.ts';
import type { Upload, SegmentReference } from './upload.ts';

/** The states that decisions about uploads read. */
export interface UploadStates extends TeamStates {
  readonly uploads: UploadsState;
}

export class UploadsState {
  readonly #journal: UndoJournal;
  readonly #uploads: Map<string, Upload>;
  readonly #claims = new Map<string, boolean>();
  readonly #changed: Map<string, Upload>;
  readonly #patched: PatchedReferences;
  /** The files named by rows that were added to a tail. */
  readonly newReferences: SegmentReference[] = [];

  constructor(journal: UndoJournal) {
    this.#journal = journal;
    this.#uploads = new UndoMap(journal);
    this.#changed = new UndoMap(journal);
    this.#patched = new PatchedReferences(journal);
  }

  upload(uploadId: string): Upload | null {
    return this.#uploads.get(uploadId) ?? null;
  }

  /** Whether a row of one of its team's tables names the upload's file. Throws if the claims were not loaded. */
  isClaimed({ id }: Upload): boolean {
    const isClaimed = this.#claims.get(id);
    if (isClaimed === undefined) throw new Error(`the claims on the file of upload ${id} were not loaded`);
    return isClaimed;
  }

  put(upload: Upload): void {
    this.#uploads.set(upload.id, upload);
  }

  /** Records whether rows named the upload's file before this batch. */
  putClaim(uploadId: string, isClaimed: boolean): void {
    this.#claims.set(uploadId, isClaimed);
  }

  change(upload: Upload): void {
    this.put(upload);
    this.#changed.set(upload.id, upload);
  }

  /** Records the files that rows added to a tail name. */
  followTailRows({ teamId, extent: { segment }, first, bodies }: TailRowsChange): void {
    bodies.forEach((body, at) => {
      for (const file of fileNamesIn(body))
        this.#journal.push(this.newReferences, { teamId, segment, index: first + at, file });
    });
  }

  /** Records the files that a patched or deleted row names or no longer names. */
  followRow({ teamId, extent, index, before, body }: RowChange): void {
    this.#patched.replace({ teamId, extent: extent.key, index }, before, body);
  }

  changedUploads(): Upload[] {
    return [...this.#changed.values()];
  }

  /** The files that patched rows now name, and those that they no longer name. */
  get patched(): Pick<PatchedReferences, 'named' | 'gone'> {
    return this.#patched;
  }
}
