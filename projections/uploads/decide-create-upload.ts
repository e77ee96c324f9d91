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
 * open uploads and their bytes, which are bounded because they do not count as bytes of files yet. Each counts with its
 * `sizeMax`: nobody knows what will arrive.
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

/** The team with one open upload more (1) or less (-1). */
export function withOpen(team: Team, { sizeMax }: Upload, by: 1 | -1): Team {
  return { ...team, openUploads: team.openUploads + by, openUploadBytes: team.openUploadBytes + by * sizeMax };
}

/** The upload's part of an outcome. */
export function resultOf({ id, contentType, fileName, sizeMax, expiresAt, file }: Upload): UploadResult {
  return { id, contentType, fileName, sizeMax, expiresAt, file: file?.name ?? null };
}
