import type { Event, EventOf } from '../../src/language/events/event.ts';
import { apply } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Upload, UploadChange } from './upload.ts';
import type { UploadStates } from './uploads.state.ts';
import { giveUp } from './decide-delete-upload.ts';

/**
 * Gives up uploads that were never completed, and files that no row has named for too long (spec section 3). An early,
 * late or repeated event is harmless, because only the state at its place in the log counts.
 */
export function decideUploadChecked(
  { uploads, teams }: UploadStates,
  { data: { teamId, uploadId } }: Event<EventOf<'UploadChecked'>>,
  at: LogPlace,
): Decision<UploadChange> {
  const upload = uploads.upload(uploadId);
  if (upload === null || upload.teamId !== teamId || upload.removedAt !== null) return apply([]);
  const team = teams.team(teamId)!;
  if (upload.file === null) return apply(at.time < upload.expiresAt ? [] : giveUp(upload, team, at));
  const { unclaimedSince, unclaimedLifeMs } = upload;
  if (uploads.isClaimed(upload)) return apply(unclaimedSince === null ? [] : [withClock(upload, null)]);
  if (unclaimedSince === null) return apply([withClock(upload, at.time)]);
  return apply(at.time - unclaimedSince < unclaimedLifeMs ? [] : giveUp(upload, team, at));
}

function withClock(upload: Upload, unclaimedSince: number | null): UploadChange {
  return { kind: 'upload', upload: { ...upload, unclaimedSince } };
}
