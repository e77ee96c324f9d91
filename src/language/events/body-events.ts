/** Events of bodies that come in several blocks. */
import { costOfProfile } from './cost-of-rows.ts';
import { body, defineEvent, json, optional, profile, team } from './define-event.ts';
import type { BodyLimits } from './limits.ts';

/**
 * The blocks of a body will follow. The body is open until an event names it as the source of its rows, or until
 * `BodyExpired`.
 */
export const bodyOpenRequested = defineEvent({
  type: 'BodyOpenRequested',
  language: 1,
  fields: { teamId: team, bodyId: body, limits: json<BodyLimits>() },
});

/** An open body is too old for its closing event. */
export const bodyExpired = defineEvent({ type: 'BodyExpired', language: 1, fields: { teamId: team, bodyId: body } });

export const blockReceived = defineEvent({
  type: 'BlockReceived',
  language: 1,
  fields: {
    teamId: team,
    bodyId: body,
    /** The position of the block in the body, from 0. */
    number: json<number>(),
    segmentId: json<string>(),
    profile,
    /** Whether the body of the event also has the row IDs with which the rows came (row-bodies.ts). */
    ids: optional(json<true>()),
  },
  cost: (data) => costOfProfile(data.profile, data.ids === true),
});
