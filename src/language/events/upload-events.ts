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
     * The received bytes, sealed under this name for this request. If they exceed the upload's limit, the file need not
     * exist.
     */
    file: json<StoredFile>(),
  },
});

/** Requests to withdraw the file of an upload. An upload that was not completed is given up. */
export const uploadDeleteRequested = defineEvent({
  type: 'UploadDeleteRequested',
  language: 1,
  fields: { teamId: team, uploadId: upload, appId: json<string>() },
});

/**
 * A process has noticed that the upload's time may be over, or that no row may reference its file. The decision is made
 * at the event's place in the log.
 */
export const uploadChecked = defineEvent({
  type: 'UploadChecked',
  language: 1,
  fields: { teamId: team, uploadId: upload },
});
