/** The result of deciding an event: its outcome and its changes, as plain values. A decision does no I/O. */
import type { Event, EventData } from '../../language/events/event.ts';
import type { Gap } from '../progress/versions.ts';
import type { AppliedResult, Outcome } from '../../language/events/outcome.ts';
import type { Refusal, RefusalType } from '../../language/values/refusal.ts';

/** The place of an event in the log. */
export interface LogPlace {
  readonly partition: number;
  readonly offset: bigint;
  /** base + offset: the version of everything that the event changes. */
  readonly version: bigint;
  /** Ranges of lower versions that stand for nothing, because a part of the log was lost. */
  readonly gaps: readonly Gap[];
  /** The record's time in milliseconds since 1970: the only time a decision knows. */
  readonly time: number;
}

/**
 * One change of the read model. It carries the whole new value, or the amount by which a count changes. `kind` is
 * unique over all models.
 */
export interface AnyChange {
  readonly kind: string;
}

export interface Decision<Change extends AnyChange = AnyChange> {
  readonly outcome: Outcome;
  readonly changes: readonly Change[];
}

/**
 * Decides one type of event on the states of the models that it reads. Throws only on bugs: every request has an
 * outcome.
 */
export type Decide<States, E extends EventData, Change extends AnyChange> = (
  states: States,
  event: Event<E>,
  at: LogPlace,
) => Decision<Change>;

export function refuse(type: RefusalType, message: string): Decision<never> {
  return refusedWith({ type, message });
}

/** Refuses a request, but still changes the read model. */
export function refuseWith<Change extends AnyChange>(refusal: Refusal, changes: readonly Change[]): Decision<Change> {
  return { outcome: { status: 'refused', refusal }, changes };
}

export function refusedWith(refusal: Refusal): Decision<never> {
  return { outcome: { status: 'refused', refusal }, changes: [] };
}

export function apply<Change extends AnyChange>(
  changes: readonly Change[],
  etag?: bigint,
  result: AppliedResult = {},
): Decision<Change> {
  return { outcome: { status: 'applied', result, etag }, changes };
}
