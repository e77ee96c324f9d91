/**
 * RefuseRequest: records that the committed state refused a request, so that a repetition of the request has the same
 * outcome.
 */
import type { EventOf } from '../src/language/events/event.ts';
import type { Refusal } from '../src/language/values/refusal.ts';

export function refuseRequest(teamId: string, refusal: Refusal): EventOf<'RequestRefused'> {
  return { type: 'RequestRefused', teamId, refusal };
}
