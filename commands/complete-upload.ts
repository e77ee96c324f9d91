/** CompleteUpload (spec 4.9), and the event that checks an upload. */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { StoredFile } from '../src/language/events/upload-events.ts';
import { appPath } from './create-upload.ts';

/** A malformed ID gets the answer of an unknown one. */
export const uploadPath = appPath.extend({
  uploadID: z
    .string()
    .meta({ description: 'The ID of an upload.', examples: ['0199c2f4-6d1e-7a30-8c55-1f0a2b3c4d5e'] }),
});

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
