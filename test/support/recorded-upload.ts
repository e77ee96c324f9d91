import { randomUUIDv7 } from 'node:crypto';
import { createUpload as uploadCreated } from '../../commands/create-upload.ts';
import type { UploadLimits } from '../../src/events/event.ts';
import type { ExpectedUpload } from '../../src/files/file-store.ts';
import type { EventLog } from '../../src/log/event-log.ts';
import { recordFact } from '../../src/log/record-fact.ts';
import type { Team } from './api.ts';
import { createUpload, picture } from './uploads.ts';

/** Writes the creation of an upload into the log, under limits that the service is not set to. */
export async function recordUpload(
  log: EventLog, team: Team, limits: UploadLimits, { app = 'shop', commandId }: { readonly app?: string; readonly commandId?: string } = {},
): Promise<ExpectedUpload> {
  const uploadId = randomUUIDv7();
  await recordFact(log, uploadCreated({ teamId: team.id, uploadId, path: { appID: app }, members: picture, limits }), commandId);
  // Its team's next request comes behind it in the log.
  await createUpload(team.client);
  return { uploadId, contentType: picture.contentType, sizeMax: limits.sizeMax, expiresAt: log.now() + limits.lifeMs };
}
