/** CompleteUpload (spec 4.9), and what is noted when somebody looks at an upload. */
import { z } from 'zod';
import type { EventOf, StoredFile } from '../src/events/event.ts';
import { appPath } from './create-upload.ts';

/** An ID that cannot be one is answered as one that is unknown. */
export const uploadPath = appPath.extend({ uploadID: z.string() });

/** `file`: what has arrived, sealed. */
export function completeUpload(
  teamId: string,
  { appID, uploadID }: z.output<typeof uploadPath>,
  file: StoredFile,
): EventOf<'UploadCompleteRequested'> {
  return { type: 'UploadCompleteRequested', teamId, uploadId: uploadID, appId: appID, file };
}

export function checkUpload(teamId: string, uploadId: string): EventOf<'UploadChecked'> {
  return { type: 'UploadChecked', teamId, uploadId };
}
