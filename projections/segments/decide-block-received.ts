import type { EventOf } from '../../src/events/event.ts';
import { apply } from '../decision.ts';
import type { Decision, DecisionState, LogPlace } from '../decision.ts';

/** A block waits for the closing event of its body. Its rows are written; nobody sees them before a link. */
export function decideBlockReceived(state: DecisionState, data: EventOf<'BlockReceived'>, at: LogPlace): Decision {
  const { bodyId, number, teamId, segmentId, profile } = data;
  const segment = state.segment(segmentId);
  return apply([{ kind: 'bodyBlock', block: { bodyId, number, teamId, segment, profile, time: at.time } }]);
}
