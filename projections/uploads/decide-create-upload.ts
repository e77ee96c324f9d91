import type { Event, EventOf } from '../../src/language/events/event.ts';
import type { UploadResult } from '../../src/language/events/outcome.ts';
import { apply, refuse, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { Team } from '../teams/team.ts';
import type { Upload, UploadChange } from './upload.ts';
import type { UploadStates } from './uploads.state.ts';
import { exceededQuota, suspendedMessage } from '../teams/guards.ts';

/**
 * Spec 4.8: announces an upload. An app exists once its team names it (docs/spec/decisions.md 3). Guards: suspension;
 * the number of open uploads, and their bytes. The bytes are bounded because they do not count as bytes of files yet.
 * Each upload counts with its `sizeMax`, because the size that will arrive is unknown.
 */
export function decideCreateUpload(
  { teams }: UploadStates,
  { data }: Event<EventOf<'UploadCreateRequested'>>,
  at: LogPlace,
): Decision<UploadChange> {
  const { teamId, uploadId, appId, contentType, fileName, limits } = data;
  const team = teams.team(teamId)!;
  if (team.suspended) return refuse('payment_required', suspendedMessage);
  const tooMany =
    exceededQuota(team, 'openUploads', 1, limits.openMax) ??
    exceededQuota(team, 'openUploadBytes', limits.sizeMax, limits.openBytesMax);
  if (tooMany !== null) return refusedWith(tooMany);
  const upload: Upload = {
    id: uploadId,
    teamId,
    appId,
    contentType,
    fileName,
    created: at.version,
    createdAt: at.time,
    expiresAt: at.time + limits.lifeMs,
    sizeMax: limits.sizeMax,
    unclaimedLifeMs: limits.unclaimedLifeMs,
    file: null,
    unclaimedSince: null,
    removedAt: null,
  };
  return apply(
    [
      { kind: 'upload', upload },
      { kind: 'team', team: withOpen(team, upload, 1) },
    ],
    undefined,
    { upload: resultOf(upload) },
  );
}

/** The team with one more open upload (1) or one less (-1). */
export function withOpen(team: Team, { sizeMax }: Upload, by: 1 | -1): Team {
  return { ...team, openUploads: team.openUploads + by, openUploadBytes: team.openUploadBytes + by * sizeMax };
}

/** The upload as an outcome reports it. */
export function resultOf({ id, contentType, fileName, sizeMax, expiresAt, file }: Upload): UploadResult {
  return { id, contentType, fileName, sizeMax, expiresAt, file: file?.name ?? null };
}
