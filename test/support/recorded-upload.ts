import { randomUUIDv7 } from 'node:crypto';
import { createUpload as uploadCreated } from '../../commands/create-upload.ts';
import type { UploadLimits } from '../../src/language/events/limits.ts';
import type { ExpectedUpload } from '../../src/storage/files/file-store.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { recordFact } from '../../src/log/record-fact.ts';
import type { Team } from './api.ts';
import { postUpload, picture } from './uploads.ts';

/** Records the creation of an upload in the log, with limits that differ from the settings of the service. */
export async function recordUpload(
  log: EventLog,
  team: Team,
  limits: UploadLimits,
  { app = 'shop', commandId }: { readonly app?: string; readonly commandId?: string } = {},
): Promise<ExpectedUpload> {
  const uploadId = randomUUIDv7();
  await recordFact(
    log,
    uploadCreated({ teamId: team.id, uploadId, path: { appID: app }, members: picture, limits }),
    commandId,
  );
  // A later request of the same team. Once it is answered, the creation has been projected.
  await postUpload(team.client);
  return { uploadId, contentType: picture.contentType, sizeMax: limits.sizeMax, expiresAt: log.now() + limits.lifeMs };
}
