import type { Event, EventOf } from '../../../src/language/events/event.ts';
import { apply, refuse, type Decision, type LogPlace } from '../../../src/log/batch/decision.ts';
import type { CounterChange, CounterStates } from './counters.state.ts';

/** Refuses to count beyond the limit of the request. */
export function decideRaiseCounter(
  { counters }: CounterStates,
  { data: { teamId, by, countMax } }: Event<EventOf<'CounterRaiseRequested'>>,
  at: LogPlace,
): Decision<CounterChange> {
  const count = counters.count(teamId) + by;
  if (count > countMax) return refuse('limit_exceeded', `The counter counts to ${countMax}.`);
  return apply([{ kind: 'counter', counter: { teamId, count } }], at.version);
}
