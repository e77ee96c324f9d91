import type { Event, EventOf } from '../../src/language/events/event.ts';
import { rowIdsOf } from '../../src/language/events/row-bodies.ts';
import { findRowIdRuns } from '../../src/language/events/row-id-runs.ts';
import { apply } from '../../src/log/batch/decision.ts';
import type { Decision, LogPlace } from '../../src/log/batch/decision.ts';
import type { BodyBlockChange } from './body-block.ts';
import type { SegmentStates } from './segments.state.ts';

/**
 * Adds a block to a body that waits for its closing event. Its rows are written already, but hidden until an extent
 * refers to them.
 */
export function decideBlockReceived(
  { segments }: SegmentStates,
  event: Event<EventOf<'BlockReceived'>>,
  at: LogPlace,
): Decision<BodyBlockChange> {
  const { data } = event;
  const { bodyId, number, teamId, segmentId, profile } = data;
  const segment = segments.key(segmentId);
  const ids = data.ids ? findRowIdRuns(rowIdsOf(event.body(), data)!) : null;
  return apply([{ kind: 'bodyBlock', block: { bodyId, number, teamId, segment, profile, ids, time: at.time } }]);
}
