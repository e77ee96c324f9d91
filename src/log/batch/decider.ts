/** Decides events on the states of a batch, one after the other, and applies their changes. */
import type { Event, EventData } from '../../language/events/event.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { TimeSlices } from '../../language/time-slices.ts';
import type { ModelSet, AnyStates } from '../model-set.ts';
import type { AnyChange, Decision, LogPlace } from './decision.ts';
import type { AppliedPart, Sequence } from './sequence.ts';
import type { UndoJournal } from './undo-journal.ts';

/** How many changes are applied between two checks of the clock. */
const changesOfSlice = 1000;
/** How many parts of an event are decided between two checks of the clock: about a millisecond. */
const partsOfSlice = 50;

export class Decider {
  readonly #models: ModelSet;
  readonly #states: AnyStates;
  readonly #journal: UndoJournal;
  /** How many changes have been applied. */
  #changes = 0;

  /** `journal`: the journal of the states. */
  constructor(models: ModelSet, states: AnyStates, journal: UndoJournal) {
    this.#models = models;
    this.#states = states;
    this.#journal = journal;
  }

  /**
   * Decides an event, and applies its changes. `load`: loads what an event looks up, because earlier events have
   * changed that (`Model.lacks`).
   */
  async decide(
    event: Event,
    at: LogPlace,
    slices: TimeSlices,
    load: (event: Event) => Promise<void>,
  ): Promise<Outcome> {
    const models = this.#models;
    const sequence = models.sequenceOf(event.data);
    if (sequence === null) {
      if (models.lacks(this.#states, event)) await load(event);
      return this.#apply(models.decide(this.#states, event, at), slices);
    }
    this.#journal.setSavepoint();
    const outcome = await this.#decideInOrder(sequence, event, at, slices, load);
    if (outcome.status === 'refused') this.#journal.rollBack();
    else this.#journal.release();
    return outcome;
  }

  /**
   * Decides an event that consists of others, part by part. If one part is refused, the applied changes must be undone.
   */
  async #decideInOrder(
    { open, outcomeOf, refusalOf }: Sequence<EventData, AnyStates, AnyChange>,
    event: Event,
    at: LogPlace,
    slices: TimeSlices,
    load: (event: Event) => Promise<void>,
  ): Promise<Outcome> {
    const models = this.#models;
    const opened = open === undefined ? null : await this.#apply(open(this.#states, event, at), slices);
    if (opened?.status === 'refused') return opened;
    const parts: AppliedPart[] = [];
    for (const part of models.partsOf(event)) {
      if (models.lacks(this.#states, part)) await load(part);
      const decision = models.decide(this.#states, part, at);
      const outcome = await this.#apply(decision, slices);
      if (outcome.status === 'refused')
        return { status: 'refused', refusal: refusalOf(event.data, outcome.refusal, parts.length) };
      parts.push({ outcome, changed: decision.changes.length > 0 });
      if (parts.length % partsOfSlice === 0) await slices.next();
    }
    return outcomeOf(event.data, parts, at, opened);
  }

  async #apply({ changes, outcome }: Decision, slices: TimeSlices): Promise<Outcome> {
    const models = this.#models;
    for (const change of changes) {
      models.apply(this.#states, change);
      this.#changes += 1;
      if (this.#changes % changesOfSlice === 0) await slices.next();
    }
    return outcome;
  }
}
