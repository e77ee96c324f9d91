/** PutChunk: a part of a stash (spec 4.10). */
import { z } from 'zod';
import type { EventOf, RowSource, StashLimits } from '../src/events/event.ts';
import { stashId } from './inputs.ts';

/** A serial has the pattern of a stash ID (docs/spec/decisions.md 3). */
export const chunkPath = z.object({ stashID: stashId, serial: stashId });

export interface PutChunkInput {
  readonly teamId: string;
  readonly path: z.output<typeof chunkPath>;
  /** Where the rows of the chunk are stored. */
  readonly rows: Exclude<RowSource, { readonly kind: 'stash' }>;
  readonly limits: StashLimits;
}

export function putChunk({ teamId, path, rows, limits }: PutChunkInput): EventOf<'ChunkPutRequested'> {
  return { type: 'ChunkPutRequested', teamId, stashId: path.stashID, serial: path.serial, limits, rows };
}
