import type { Event, EventOf } from '../../src/events/event.ts';
import { rowIdsOf } from '../../src/events/row-bodies.ts';
import { findRowIdRuns } from '../../src/events/row-id-runs.ts';
import { apply } from '../decision.ts';
import type { Decision, DecisionState, LogPlace } from '../decision.ts';

/** A block waits for the closing event of its body. Its rows are written; nobody sees them before a link. */
export function decideBlockReceived(
  state: DecisionState,
  event: Event<EventOf<'BlockReceived'>>,
  at: LogPlace,
): Decision {
  const { data } = event;
  const { bodyId, number, teamId, segmentId, profile } = data;
  const segment = state.segment(segmentId);
  const ids = data.ids ? findRowIdRuns(rowIdsOf(event.body(), data)!) : null;
  return apply([{ kind: 'bodyBlock', block: { bodyId, number, teamId, segment, profile, ids, time: at.time } }]);
}
