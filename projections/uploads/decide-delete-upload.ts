import type { Event, EventOf } from '../../src/language/events/event.ts';
import { apply, refuse } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Team } from '../teams/team.ts';
import { withOpen } from './decide-create-upload.ts';
import type { Upload, UploadChange } from './upload.ts';
import type { UploadStates } from './uploads.state.ts';
import { suspendedMessage } from '../teams/guards.ts';

/**
 * Withdraws a file, or gives up an open upload, even an expired one. Guards: upload, suspension. Rows that name the
 * file do not prevent this, and do not change.
 */
export function decideDeleteUpload(
  { uploads, teams }: UploadStates,
  { data }: Event<EventOf<'UploadDeleteRequested'>>,
  at: LogPlace,
): Decision<UploadChange> {
  const { teamId, appId, uploadId } = data;
  const upload = uploads.upload(uploadId);
  if (upload === null || upload.teamId !== teamId || upload.appId !== appId || upload.removedAt !== null) {
    return refuse('upload_not_found', 'there is no such upload');
  }
  const team = teams.team(teamId)!;
  if (team.suspended) return refuse('payment_required', suspendedMessage);
  return apply(giveUp(upload, team, at));
}

/**
 * The changes that end an upload. If it has a file, the plan gets its bytes back. If not, the upload is no longer open.
 */
export function giveUp(upload: Upload, team: Team, { time }: LogPlace): readonly UploadChange[] {
  const changed =
    upload.file === null ? withOpen(team, upload, -1) : { ...team, uploadBytes: team.uploadBytes - upload.file.size };
  return [
    { kind: 'upload', upload: { ...upload, removedAt: time } },
    { kind: 'team', team: changed },
  ];
}
