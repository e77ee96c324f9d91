import type { Event, EventOf } from '../../src/language/events/event.ts';
import type { StoredFile } from '../../src/language/events/upload-events.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import { apply, refuse, refuseWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Team } from '../teams/team.ts';
import type { Upload, UploadChange } from './upload.ts';
import type { UploadStates } from './uploads.state.ts';
import { exceededQuota, suspendedMessage } from '../teams/guards.ts';
import { resultOf, withOpen } from './decide-create-upload.ts';

/**
 * Spec 4.9. Guards: upload, suspension, size, plan. If the file is too large or exceeds the plan, the file and its
 * upload are given up (spec section 3). Completing an upload again changes nothing and returns the same result.
 */
export function decideCompleteUpload(
  { uploads, teams }: UploadStates,
  { data }: Event<EventOf<'UploadCompleteRequested'>>,
  at: LogPlace,
): Decision<UploadChange> {
  const { teamId, appId, uploadId, file } = data;
  const upload = uploads.upload(uploadId);
  const isThere = upload !== null && upload.teamId === teamId && upload.appId === appId && upload.removedAt === null;
  if (!isThere || (upload.file === null && at.time >= upload.expiresAt)) {
    return refuse('upload_not_found', isThere ? 'the upload has expired' : 'there is no such upload');
  }
  const team = teams.team(teamId)!;
  if (team.suspended) return refuse('payment_required', suspendedMessage);
  if (upload.file !== null) return apply([], undefined, { upload: resultOf(upload) });

  const refusal = refusalOf(upload, team, file);
  const closed = withOpen(team, upload, -1);
  if (refusal !== null) {
    const givenUp: Upload = { ...upload, file, removedAt: at.time };
    return refuseWith(refusal, [
      { kind: 'upload', upload: givenUp },
      { kind: 'team', team: closed },
    ]);
  }
  const completed: Upload = { ...upload, file, unclaimedSince: at.time };
  return apply(
    [
      { kind: 'upload', upload: completed },
      { kind: 'team', team: { ...closed, uploadBytes: team.uploadBytes + file.size } },
    ],
    undefined,
    { upload: resultOf(completed) },
  );
}

function refusalOf({ sizeMax }: Upload, team: Team, { size }: StoredFile): Refusal | null {
  if (size > sizeMax)
    return { type: 'payload_too_large', message: `the file has ${size} bytes, more than ${sizeMax}; it was deleted` };
  const tooMuch = exceededQuota(team, 'uploadBytes', size);
  return tooMuch === null ? null : { ...tooMuch, message: `${tooMuch.message}; the file was deleted` };
}
