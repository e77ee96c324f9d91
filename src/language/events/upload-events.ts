/** Events of uploaded files. */
import { defineEvent, json, team, upload } from './define-event.ts';
import type { UploadLimits } from './limits.ts';

/** A file in the store. */
export interface StoredFile {
  /** Its random name (src/storage/files/file-name.ts). */
  readonly name: string;
  /** In bytes. */
  readonly size: number;
}

export const uploadCreateRequested = defineEvent({
  type: 'UploadCreateRequested',
  language: 1,
  fields: {
    teamId: team,
    uploadId: upload,
    appId: json<string>(),
    contentType: json<string>(),
    fileName: json<string>(),
    limits: json<UploadLimits>(),
  },
});

export const uploadCompleteRequested = defineEvent({
  type: 'UploadCompleteRequested',
  language: 1,
  fields: {
    teamId: team,
    uploadId: upload,
    appId: json<string>(),
    /**
     * The received bytes, sealed under this name for this request. If they exceed the upload's limit, this file need
     * not exist.
     */
    file: json<StoredFile>(),
  },
});

/** The file of an upload is to be withdrawn; an upload that was not completed is to be given up. */
export const uploadDeleteRequested = defineEvent({
  type: 'UploadDeleteRequested',
  language: 1,
  fields: { teamId: team, uploadId: upload, appId: json<string>() },
});

/**
 * A process checked whether the upload's time is over, or whether rows reference its file. Decided at the event's place
 * in the log.
 */
export const uploadChecked = defineEvent({
  type: 'UploadChecked',
  language: 1,
  fields: { teamId: team, uploadId: upload },
});
