import type { EventOf } from '../../src/events/event.ts';
import { apply } from '../decision.ts';
import type { Change, Decision, DecisionState, LogPlace, Upload } from '../decision.ts';

/**
 * The end of uploads that were never completed, and of files that no row has named for too long (spec section 3). Whoever looks
 * says so: too early, too late and too often, and only what is so at this place of the log counts.
 */
export function decideUploadChecked(
  state: DecisionState,
  { teamId, uploadId }: EventOf<'UploadChecked'>,
  at: LogPlace,
): Decision {
  const upload = state.upload(uploadId);
  if (upload === null || upload.teamId !== teamId || upload.removedAt !== null) return apply([]);
  const team = state.team(teamId)!;
  const removed: Change = { kind: 'upload', upload: { ...upload, removedAt: at.time } };
  if (upload.file === null) {
    if (at.time < upload.expiresAt) return apply([]);
    return apply([removed, { kind: 'team', team: { ...team, openUploads: team.openUploads - 1 } }]);
  }
  const { unclaimedSince, unclaimedLifeMs } = upload;
  if (state.isClaimed(upload)) return apply(unclaimedSince === null ? [] : [withClock(upload, null)]);
  if (unclaimedSince === null) return apply([withClock(upload, at.time)]);
  if (at.time - unclaimedSince < unclaimedLifeMs) return apply([]);
  return apply([removed, { kind: 'team', team: { ...team, uploadBytes: team.uploadBytes - upload.file.size } }]);
}

function withClock(upload: Upload, unclaimedSince: number | null): Change {
  return { kind: 'upload', upload: { ...upload, unclaimedSince } };
}
