/**
 * A request is turned away if it is refused before the append, for a reason of the moment (docs/decisions/0055). Such a
 * refusal is never recorded. With an Idempotency-Key it says nothing about earlier tries, so the submitter first looks
 * for their outcome.
 */
import type { IncomingMessage } from 'node:http';
import { refuseRequest } from '../../../../commands/refuse-request.ts';
import type { EventData, EventOf } from '../../../language/events/event.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { HttpError } from '../answers/http-error.ts';

/** Why a try is turned away. A request without an Idempotency-Key is answered with this error. */
export class TurnedAway extends HttpError {
  override readonly name = 'TurnedAway';
}

/** The event of a request, or why the request is turned away. */
export type Submission = EventData | TurnedAway;

const marked = new WeakMap<IncomingMessage, TurnedAway>();

/**
 * Turns a request with an Idempotency-Key away when it is submitted. Until then its body is read, because a key belongs
 * to one body, but not stored.
 */
export function turnAwayLater(raw: IncomingMessage, reason: TurnedAway): void {
  marked.set(raw, reason);
}

/** Why the request must be turned away when it is submitted; null if it need not. */
export function turnedAwayOf(raw: IncomingMessage): TurnedAway | null {
  return marked.get(raw) ?? null;
}

/**
 * The submission of a refusal. It is recorded if the committed state refuses the request, and not recorded if the
 * request is turned away.
 */
export function refusing(teamId: string, refusal: Refusal | TurnedAway): EventOf<'RequestRefused'> | TurnedAway {
  return refusal instanceof TurnedAway ? refusal : refuseRequest(teamId, refusal);
}
