/** Types of events that consist of others (docs/decisions/0072). */
import type { EventData } from '../../language/events/event.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { Refusal } from '../../language/values/refusal.ts';
import type { AnyChange, Decide, LogPlace } from './decision.ts';

/** A part of a sequence that was applied. */
export interface AppliedPart {
  readonly outcome: Outcome;
  /** Whether it changed anything. */
  readonly changed: boolean;
}

/**
 * How a type of event is decided that consists of others: each part sees the changes of the parts before it. If one is
 * refused, the event is refused, and no part changes anything. All that `open` and the parts look up is loaded before
 * the first part is decided, so no part may need what an earlier one makes (`Model.needs`). All parts have the version
 * of the event, and a schema has no place within a version: so `open` decides the schema of a table for all parts, and
 * they leave it as it is. The rows in the body of the event are those of its parts, in their order.
 */
export interface Sequence<E extends EventData, States, Change extends AnyChange> {
  /**
   * Decides what concerns the event as a whole, before its first part. If it refuses, the event is refused so, and no
   * part is decided; all parts see its changes.
   */
  readonly open?: Decide<States, E, Change>;
  /** What the event consists of, in order. All parts stand at the event's place in the log. */
  partsOf(data: E): readonly EventData[];
  /** The outcome once all parts were applied. `opened`: the outcome of `open`, if there is one. */
  outcomeOf(data: E, parts: readonly AppliedPart[], at: LogPlace, opened: Outcome | null): Outcome;
  /** The refusal of the event, by that of one of its parts, counted from 0. */
  refusalOf(refusal: Refusal, part: number): Refusal;
}
