/** CompleteUpload (spec 4.9), and the event of a check of an upload. */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { StoredFile } from '../src/language/events/upload-events.ts';
import { appPath } from './create-upload.ts';

/** A malformed ID is answered like an unknown one. */
export const uploadPath = appPath.extend({ uploadID: z.string() });

export type UploadPath = z.output<typeof uploadPath>;

/** `file`: the sealed bytes. */
export function completeUpload(
  teamId: string,
  { appID, uploadID }: UploadPath,
  file: StoredFile,
): EventOf<'UploadCompleteRequested'> {
  return { type: 'UploadCompleteRequested', teamId, uploadId: uploadID, appId: appID, file };
}

export function checkUpload(teamId: string, uploadId: string): EventOf<'UploadChecked'> {
  return { type: 'UploadChecked', teamId, uploadId };
}
