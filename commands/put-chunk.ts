/** PutChunk: a part of a stash (spec 4.10). */
import { z } from 'zod';
import type { EventOf } from '../src/language/events/event.ts';
import type { RowSource } from '../src/language/events/row-source.ts';
import type { StashLimits } from '../src/language/events/limits.ts';
import { stashNameOf } from '../src/language/events/stash-name.ts';
import { stashPath } from './end-stash.ts';
import { stashId } from './inputs.ts';

/** A serial has the pattern of a stash ID (docs/spec/decisions.md 3). */
export const chunkPath = stashPath.extend({
  serial: stashId.meta({ description: 'The place of the chunk in the stash.', examples: ['12'] }),
});

/** A chunk is checked against a schema only when the stash is imported. So there is no `updateSchema` here. */
export const chunkQuery = z.strictObject({
  onSchemaError: z
    .enum(['abort', 'dropColumns'])
    .default('abort')
    .describe(
      'What happens to cells that no row may hold, because their text is too long or not well-formed. ' +
        '`abort`: the request is refused. `dropColumns`: the cells are dropped. ' +
        'The cells of the chunk are counted, so that an import with `dropColumns` can report how many it drops.',
    ),
});

interface PutChunkInput {
  readonly teamId: string;
  /** The app of the token, which has stashes of its own; null: the token is for the whole team. */
  readonly appId: string | null;
  readonly path: z.output<typeof chunkPath>;
  /** Where the rows of the chunk are stored. */
  readonly rows: Exclude<RowSource, { readonly kind: 'stash' }>;
  readonly limits: StashLimits;
}

export function putChunk({ teamId, appId, path, rows, limits }: PutChunkInput): EventOf<'ChunkPutRequested'> {
  return {
    type: 'ChunkPutRequested',
    teamId,
    stashId: stashNameOf(appId, path.stashID),
    serial: path.serial,
    limits,
    rows,
  };
}
