/** DeleteUpload: withdraws a file, or gives up an upload that was not completed (docs/spec/decisions.md 3). */
import type { EventOf } from '../src/language/events/event.ts';
import type { UploadPath } from './complete-upload.ts';

/** `uploadID`: a UUID (`isUploadId`). */
export function deleteUpload(teamId: string, { appID, uploadID }: UploadPath): EventOf<'UploadDeleteRequested'> {
  return { type: 'UploadDeleteRequested', teamId, uploadId: uploadID, appId: appID };
}
