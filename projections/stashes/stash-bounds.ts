/** The bounds of a stash, and the quota of stashes: the reasons to refuse a chunk. */
import type { StashLimits } from '../../src/language/events/limits.ts';
import type { Refusal } from '../../src/language/values/refusal.ts';
import type { LogPlace } from '../../src/log/batch/decision.ts';
import { exceededQuota } from '../teams/guards.ts';
import type { Team } from '../teams/team.ts';
import { liveStash } from './live-stash.ts';
import type { ChunkSize, Stash } from './stash.ts';

type At = Pick<LogPlace, 'time'>;

/** The counts that a chunk adds to those of its stash. */
type ChunkContent = Pick<ChunkSize, 'rows' | 'profiledColumns'>;

type StashSize = ChunkContent & Pick<Stash, 'chunks'>;

/** The place where a chunk goes. */
export interface ChunkTarget {
  readonly team: Pick<Team, 'stashes' | 'stashesMax'>;
  /** The newest stash of the name, even if it has ended. */
  readonly last: (StashSize & Pick<Stash, 'endedAt' | 'expiresAt'>) | null;
  /** The chunk with the same serial in that stash. */
  readonly before: ChunkContent | null;
}

/** The size of the stash with the chunk. */
export function sizeWith({ last, before: stored }: ChunkTarget, chunk: ChunkContent, at: At): StashSize {
  const live = liveStash(last, at);
  const before = live === null ? null : stored;
  return {
    chunks: (live?.chunks ?? 0) + (before === null ? 1 : 0),
    rows: (live?.rows ?? 0) - (before?.rows ?? 0) + chunk.rows,
    profiledColumns: (live?.profiledColumns ?? 0) - (before?.profiledColumns ?? 0) + chunk.profiledColumns,
  };
}

/**
 * By how many the team's stashes would increase. An expired stash counts until this chunk or maintenance notes that it
 * has expired.
 */
export function stashesBegun({ last }: Pick<ChunkTarget, 'last'>, at: At): number {
  return liveStash(last, at) !== null || (last !== null && last.endedAt === null) ? 0 : 1;
}

/**
 * Why the chunk is refused; null if it is not. If a chunk is refused, it would also be refused with more rows or
 * columns.
 */
export function refusalOfChunk(target: ChunkTarget, chunk: ChunkContent, limits: StashLimits, at: At): Refusal | null {
  const { chunks, rows, profiledColumns } = sizeWith(target, chunk, at);
  if (chunks > limits.chunksMax) return tooMuch(`the stash would have more than ${limits.chunksMax} chunks`);
  if (rows > limits.rowsMax) return tooMuch(`the stash would have more than ${limits.rowsMax} rows`);
  if (profiledColumns > limits.profiledColumnsMax) {
    return tooMuch('the stash would have too many columns for so many chunks: send more rows in each');
  }
  return exceededQuota(target.team, 'stashes', stashesBegun(target, at), limits.stashesMax);
}

function tooMuch(message: string): Refusal {
  return { type: 'limit_exceeded', message };
}
