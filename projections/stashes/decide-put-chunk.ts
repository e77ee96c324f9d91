import type { Event, EventOf } from '../../src/language/events/event.ts';
import { apply, refusedWith } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { ChunkBlock, ChunkChange, Stash, StashChange } from './stash.ts';
import type { StashStates } from './stashes.state.ts';
import { arrivedRows, type ArrivedRows } from '../segments/arrived-rows.ts';
import { liveStash } from './live-stash.ts';
import { refusalOfChunk, sizeWith, stashesBegun } from './stash-bounds.ts';
import { numericOrderOf } from './stash-order.ts';

/**
 * Spec 4.10: adds a chunk to a stash, or replaces the chunk with its serial. The first chunk creates the stash; after a
 * stash has ended, it creates a new one. Rows are checked against a schema only when the stash is imported. Guards:
 * body, bounds of the stash, number of stashes.
 */
export function decidePutChunk(
  states: StashStates,
  event: Event<EventOf<'ChunkPutRequested'>>,
  at: LogPlace,
): Decision<StashChange | ChunkChange> {
  const { teamId, stashId, serial, limits, rows: source } = event.data;
  const rows = arrivedRows(states, event, teamId, source, at);
  if ('refusal' in rows) return refusedWith(rows.refusal);

  const last = states.stashes.stash(teamId, stashId);
  const live = liveStash(last, at);
  const before = live === null ? null : states.stashes.chunk(live.key, serial);
  const blocks = blocksOf(rows);
  const content = {
    rows: rows.profile.rows,
    profiledColumns: blocks.reduce((sum, { profile }) => sum + profile.columns.length, 0),
  };
  const target = { team: states.teams.known(teamId), last, before };
  const refusal = refusalOfChunk(target, content, limits, at);
  if (refusal !== null) return refusedWith(refusal);

  const stash = live ?? newStash(states, event.data, at);
  const next: Stash = {
    ...stash,
    ...sizeWith(target, content, at),
    words: stash.words + (before === null && numericOrderOf(serial) === null ? 1 : 0),
  };
  // The last stash of this name, if it has expired and no event has noted that yet.
  const expired = last !== null && live === null && last.endedAt === null ? last : null;
  const begun = stashesBegun(target, at);
  const ended: StashChange[] =
    expired === null ? [] : [{ kind: 'stash', stash: { ...expired, endedAt: expired.expiresAt } }];
  const counted: StashChange[] = begun === 0 ? [] : [{ kind: 'usage', teamId, quota: 'stashes', by: begun }];
  const chunk = { key: states.stashes.newKey(), stash: next.key, serial, ...content, blocks };
  return apply([
    ...ended,
    { kind: 'stash', stash: next },
    { kind: 'chunk', chunk, replaces: before?.key ?? null },
    ...counted,
  ]);
}

function newStash(states: StashStates, { teamId, stashId, limits }: EventOf<'ChunkPutRequested'>, at: LogPlace): Stash {
  return {
    key: states.stashes.newKey(),
    teamId,
    stashId,
    created: at.version,
    createdAt: at.time,
    expiresAt: at.time + limits.lifeMs,
    chunks: 0,
    rows: 0,
    profiledColumns: 0,
    words: 0,
    endedAt: null,
  };
}

function blocksOf({ profile, segments, few }: ArrivedRows): readonly ChunkBlock[] {
  if (few.length > 0) throw new Error('the rows of a chunk are no segment');
  if (segments.length === 0) return [{ segment: null, profile, ids: null }];
  return segments.map(({ key, profile, ids }) => ({ segment: key, profile, ids }));
}
