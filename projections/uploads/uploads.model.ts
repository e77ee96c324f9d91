/** Uploaded files: from the announcement until the file is withdrawn, or no row has named it for too long. */
import type { Loading, Model } from '../../src/log/model.ts';
import { storing } from '../../src/storage/database/rows-statement.ts';
import type { RowChange, TailRowsChange } from '../tables/table.ts';
import { decideCompleteUpload } from './decide-complete-upload.ts';
import { decideCreateUpload } from './decide-create-upload.ts';
import { decideDeleteUpload } from './decide-delete-upload.ts';
import { decideUploadChecked } from './decide-upload-checked.ts';
import { ChangeReferenceEntity, FileReferenceEntity } from './file-reference.entity.ts';
import {
  deleteChangeReferences,
  findClaims,
  insertChangeReferences,
  insertFileReferences,
} from './file-references.store.ts';
import { UploadEntity } from './upload.entity.ts';
import { uploadSections } from './uploads.sections.ts';
import type { UploadChange } from './upload.ts';
import { UploadQueries } from './uploads.queries.ts';
import { UploadsState, type UploadStates } from './uploads.state.ts';
import { findUploads, uploadRow, upsertUploads } from './uploads.store.ts';
import { namedBy } from '../../src/language/events/event-names.ts';

export const uploads: Model<
  UploadsState,
  UploadStates,
  UploadChange | TailRowsChange | RowChange,
  null,
  null,
  UploadQueries
> = {
  entities: [UploadEntity, FileReferenceEntity, ChangeReferenceEntity],
  storage: [
    'create index uploads_listed on uploads (team_id, created, id)',
    'create index uploads_listed_of_apps on uploads (team_id, app_id, created, id)',
    'create index uploads_to_expire on uploads (expires_at) where file is null and removed_at is null',
    'create index uploads_unclaimed on uploads ((unclaimed_since + unclaimed_life_ms)) where removed_at is null',
    'create index uploads_with_files on uploads (id) where file is not null and removed_at is null',
    'create index uploads_to_clear on uploads (id) where removed_at is not null and not cleared',
  ],
  decisions: {
    UploadCreateRequested: decideCreateUpload,
    UploadCompleteRequested: decideCompleteUpload,
    UploadDeleteRequested: decideDeleteUpload,
    UploadChecked: decideUploadChecked,
  },
  changes: {
    upload: ({ uploads }, { upload }) => uploads.change(upload),
    tailRows: ({ uploads }, change) => uploads.followTailRows(change),
    row: ({ uploads }, change) => uploads.followRow(change),
  },
  open: (_newKey, journal) => new UploadsState(journal),
  load,
  store: (state) => [
    ...storing(state.newReferences, insertFileReferences),
    ...storing(state.patched.named(), insertChangeReferences),
    ...storing(state.patched.gone(), deleteChangeReferences),
    ...storing(state.changedUploads().map(uploadRow), upsertUploads),
  ],
  // To decide whether rows name a file, all stored rows are searched.
  readsStored: ({ type }) => type === 'UploadChecked',
  queries: (database) => new UploadQueries(database),
  sections: uploadSections,
  garbage: {},
};

async function load({ tx, events, states: { uploads }, before }: Loading<UploadStates, null, null>): Promise<void> {
  const missing = new Set<string>();
  const checked = new Set<string>();
  for (const { data } of events) {
    const uploadId = namedBy(data, 'upload');
    if (uploadId === null) continue;
    const upload = uploads.upload(uploadId) ?? before?.uploads.upload(uploadId);
    if (upload) uploads.put(upload);
    else missing.add(uploadId);
    if (data.type === 'UploadChecked') checked.add(uploadId);
  }
  const [found, claims] = await Promise.all([
    missing.size === 0 ? [] : findUploads(tx, [...missing]),
    checked.size === 0 ? [] : findClaims(tx, [...checked]),
  ]);
  for (const upload of found) uploads.put(upload);
  for (const { uploadId, isClaimed } of claims) uploads.putClaim(uploadId, isClaimed);
}
