import type { Event, EventOf } from '../../src/events/event.ts';
import { apply, refuse, refusedWith } from '../engine/decision.ts';
import type { Decision, LogPlace } from '../engine/decision.ts';
import type { ChunkBlock, ChunkChange, Stash, StashChange } from './stash.ts';
import type { StashStates } from './stashes.state.ts';
import { arrivedRows, type ArrivedRows } from '../segments/arrived-rows.ts';
import { exceededQuota } from '../teams/guards.ts';
import { liveStash } from './live-stash.ts';
import { numericOrderOf } from './stash-order.ts';

/**
 * Spec 4.10: adds a chunk to a stash, or replaces the chunk with its serial. The first chunk creates the stash; after a stash has ended,
 * it creates a new one. Rows are checked against a schema only when the stash is imported. Guards: body, bounds of the stash, number of
 * stashes.
 */
export function decidePutChunk(states: StashStates, event: Event<EventOf<'ChunkPutRequested'>>, at: LogPlace): Decision<StashChange | ChunkChange> {
  const { teamId, stashId, serial, limits, rows: source } = event.data;
  const rows = arrivedRows(states, event, teamId, source, at);
  if ('refusal' in rows) return refusedWith(rows.refusal);

  const last = states.stashes.stash(teamId, stashId);
  const live = liveStash(last, at);
  const stash = live ?? newStash(states, event.data, at);
  const before = live === null ? null : states.stashes.chunk(live.key, serial);
  const blocks = blocksOf(rows);
  const profiledColumns = blocks.reduce((sum, { profile }) => sum + profile.columns.length, 0);
  const next: Stash = {
    ...stash,
    chunks: stash.chunks + (before === null ? 1 : 0),
    rows: stash.rows - (before?.rows ?? 0) + rows.profile.rows,
    profiledColumns: stash.profiledColumns - (before?.profiledColumns ?? 0) + profiledColumns,
    words: stash.words + (before === null && numericOrderOf(serial) === null ? 1 : 0),
  };
  if (next.chunks > limits.chunksMax) return refuse('limit_exceeded', `the stash would have more than ${limits.chunksMax} chunks`);
  if (next.rows > limits.rowsMax) return refuse('limit_exceeded', `the stash would have more than ${limits.rowsMax} rows`);
  if (next.profiledColumns > limits.profiledColumnsMax) {
    return refuse('limit_exceeded', 'the stash would have too many columns for so many chunks: send more rows in each');
  }

  // The last stash of this name, if nothing has noted yet that it has expired.
  const expired = last !== null && live === null && last.endedAt === null ? last : null;
  const begun = (live === null ? 1 : 0) - (expired === null ? 0 : 1);
  const tooMany = exceededQuota(states.teams.known(teamId), 'stashes', begun, limits.stashesMax);
  if (tooMany !== null) return refusedWith(tooMany);

  const ended: StashChange[] = expired === null ? [] : [{ kind: 'stash', stash: { ...expired, endedAt: expired.expiresAt } }];
  const counted: StashChange[] = begun === 0 ? [] : [{ kind: 'usage', teamId, quota: 'stashes', by: begun }];
  const chunk = { key: states.stashes.newKey(), stash: next.key, serial, rows: rows.profile.rows, profiledColumns, blocks };
  return apply([...ended, { kind: 'stash', stash: next }, { kind: 'chunk', chunk, replaces: before?.key ?? null }, ...counted]);
}

function newStash(states: StashStates, { teamId, stashId, limits }: EventOf<'ChunkPutRequested'>, at: LogPlace): Stash {
  return {
    key: states.stashes.newKey(), teamId, stashId, created: at.version, createdAt: at.time, expiresAt: at.time + limits.lifeMs, chunks: 0,
    rows: 0, profiledColumns: 0, words: 0, endedAt: null,
  };
}

function blocksOf({ profile, segments, few }: ArrivedRows): readonly ChunkBlock[] {
  if (few.length > 0) throw new Error('the rows of a chunk are no segment');
  if (segments.length === 0) return [{ segment: null, profile, ids: null }];
  return segments.map(({ key, profile, ids }) => ({ segment: key, profile, ids }));
}
