/**
 * Requests that are turned away: refused before the append, for a reason of the moment (docs/decisions/0055). Such a
 * refusal is never recorded. Under an Idempotency-Key it says nothing about earlier tries, so the submitter first looks
 * for their outcome.
 */
import type { IncomingMessage } from 'node:http';
import { refuseRequest } from '../../../../commands/refuse-request.ts';
import type { EventData, EventOf } from '../../../language/events/event.ts';
import type { Refusal } from '../../../language/values/refusal.ts';
import { HttpError } from '../answers/http-error.ts';

/** Why a try is turned away. The error is the answer to a request without an Idempotency-Key. */
export class TurnedAway extends HttpError {
  override readonly name = 'TurnedAway';
}

/** What a request submits: its event, or why it is turned away. */
export type Submission = EventData | TurnedAway;

const marked = new WeakMap<IncomingMessage, TurnedAway>();

/**
 * Turns a request with an Idempotency-Key away when it is submitted. Until then it is read, because its key belongs to
 * one body, but nothing of it is stored.
 */
export function turnAwayLater(raw: IncomingMessage, reason: TurnedAway): void {
  marked.set(raw, reason);
}

/** Why the request is to be turned away when it is submitted; null if it is not. */
export function turnedAwayOf(raw: IncomingMessage): TurnedAway | null {
  return marked.get(raw) ?? null;
}

/**
 * Submits a refusal: recorded if the committed state refuses the request, not recorded if the request is turned away.
 */
export function refusing(teamId: string, refusal: Refusal | TurnedAway): EventOf<'RequestRefused'> | TurnedAway {
  return refusal instanceof TurnedAway ? refusal : refuseRequest(teamId, refusal);
}
