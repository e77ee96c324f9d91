import type { Event, EventOf } from '../../src/events/event.ts';
import type { UploadResult } from '../../src/events/outcome.ts';
import { apply, refuse } from '../engine/decision.ts';
import type { Decision, LogPlace } from '../engine/decision.ts';
import type { Upload, UploadChange } from './upload.ts';
import type { UploadStates } from './uploads.state.ts';
import { suspendedMessage } from '../teams/guards.ts';

/**
 * Spec 4.8: announces an upload. An app exists once its team names it (docs/spec/decisions.md 3). Guards: suspension, open uploads, which
 * are bounded because their bytes do not count towards the plan yet.
 */
export function decideCreateUpload({ teams }: UploadStates, { data }: Event<EventOf<'UploadCreateRequested'>>, at: LogPlace): Decision<UploadChange> {
  const { teamId, uploadId, appId, contentType, fileName, limits } = data;
  const team = teams.team(teamId)!;
  if (team.suspended) return refuse('payment_required', suspendedMessage);
  const { openUploads } = team;
  if (limits.openMax !== undefined && openUploads >= limits.openMax) {
    const message = `the team has ${openUploads} open uploads and may have at most ${limits.openMax}: complete them, or wait until they expire`;
    return refuse('limit_exceeded', message);
  }
  const upload: Upload = {
    id: uploadId, teamId, appId, contentType, fileName, created: at.version, createdAt: at.time, expiresAt: at.time + limits.lifeMs,
    sizeMax: limits.sizeMax, unclaimedLifeMs: limits.unclaimedLifeMs, file: null, unclaimedSince: null, removedAt: null,
  };
  return apply(
    [{ kind: 'upload', upload }, { kind: 'team', team: { ...team, openUploads: openUploads + 1 } }],
    undefined,
    { upload: resultOf(upload) },
  );
}

/** The upload's part of an outcome. */
export function resultOf({ id, contentType, fileName, sizeMax, expiresAt, file }: Upload): UploadResult {
  return { id, contentType, fileName, sizeMax, expiresAt, file: file?.name ?? null };
}
