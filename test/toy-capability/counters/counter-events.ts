/** Events of counters. */
import { defineEvent, json, team } from '../../../src/language/events/define-event.ts';

/** A team has one counter. */
const counterRaiseRequested = defineEvent({
  type: 'CounterRaiseRequested',
  language: 3,
  fields: { teamId: team, by: json<number>(), countMax: json<number>() },
});

/** The counter was full, and counts from 0 again. */
const counterRestarted = defineEvent({ type: 'CounterRestarted', language: 3, fields: { teamId: team } });

export const counterEvents = [counterRaiseRequested, counterRestarted] as const;
