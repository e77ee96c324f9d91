/**
 * What one batch leaves behind for the next of its partition: its states, because the next batch is decided while this one is still
 * being stored and may not see it, and what models remember of all batches so far. It is right only as long as nobody else moves the
 * progress, which shows when the next batch is stored: then it is forgotten, and the batch is decided anew.
 */
import type { RecordedOutcome } from './outcomes/recorded-outcome.ts';
import type { States } from './model-set.ts';

export class BatchMemory {
  /** What each model remembers, by its name. */
  readonly remembered: States;
  #before: States | null;
  #outcomes: ReadonlyMap<string, RecordedOutcome>;

  constructor(before: States, outcomes: ReadonlyMap<string, RecordedOutcome>, remembered: States) {
    this.#before = before;
    this.#outcomes = outcomes;
    this.remembered = remembered;
  }

  /** The states of the batch that may not be visible yet; null when it is. */
  get before(): States | null {
    return this.#before;
  }

  /** To be called when the batch is visible to all that will be loaded. */
  forgetBefore(): void {
    this.#before = null;
    this.#outcomes = new Map();
  }

  /** The outcome that a command had in the batch that may not be visible yet. */
  outcome(commandId: string): RecordedOutcome | null {
    return this.#outcomes.get(commandId) ?? null;
  }
}
