/** Events of stashes. */
import { defineEvent, json, rowsOutsideStashes, stash, team, version } from './define-event.ts';
import type { StashLimits } from './limits.ts';

export const chunkPutRequested = defineEvent({
  type: 'ChunkPutRequested',
  language: 1,
  fields: {
    teamId: team,
    stashId: stash,
    /** The client-given name of the chunk in the stash. */
    serial: json<string>(),
    limits: json<StashLimits>(),
    /** Here even few rows form a block. `few` means no rows, only columns. */
    rows: rowsOutsideStashes,
  },
});

export const stashDeleteRequested = defineEvent({
  type: 'StashDeleteRequested',
  language: 1,
  fields: { teamId: team, stashId: stash },
});

/**
 * The lifetime of the stash is over. Decisions do not depend on this event. It allows garbage collection of the chunks.
 */
export const stashExpired = defineEvent({
  type: 'StashExpired',
  language: 1,
  fields: {
    teamId: team,
    stashId: stash,
    /** Identifies the stash: the version of the event that created it. */
    created: version,
  },
});
