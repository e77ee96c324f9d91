/** Types of events that consist of others (docs/decisions/0072). */
import type { EventData } from '../../language/events/event.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { Refusal } from '../../language/values/refusal.ts';
import type { AnyChange, Decide, LogPlace } from './decision.ts';

/** An applied part of a sequence. */
export interface AppliedPart {
  readonly outcome: Outcome;
  /** Whether the part changed anything. */
  readonly changed: boolean;
}

/**
 * How a type of event that consists of other events is decided. Each part sees the changes of the parts before it. If
 * one part is refused, the whole event is refused and no part changes anything. The look-ups of `open` and of all parts
 * are loaded before the first one is decided, so no part may need what an earlier one makes (`Model.needs`). All parts
 * have the version of the event, and a version has only one schema. So `open` decides the schema of a table for all
 * parts, and the parts do not change it. The rows in the body of the event are those of its parts, in order.
 */
export interface Sequence<E extends EventData, States, Change extends AnyChange> {
  /**
   * Decides the event as a whole, before its first part. If it refuses, the event is refused with that refusal, and no
   * part is decided. All parts see its changes.
   */
  readonly open?: Decide<States, E, Change>;
  /** The parts of the event, in order. All have the event's place in the log. */
  partsOf(data: E): readonly EventData[];
  /** The outcome once all parts were applied. `opened`: the outcome of `open`, if there is one. */
  outcomeOf(data: E, parts: readonly AppliedPart[], at: LogPlace, opened: Outcome | null): Outcome;
  /** The refusal of the event, made from the refusal of one part, counted from 0. */
  refusalOf(data: E, refusal: Refusal, part: number): Refusal;
}
