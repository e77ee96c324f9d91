/**
 * The state that a batch passes on to the next one of its partition. The next batch is decided while this one is in
 * flight and invisible to reads, so it needs the states of this one, and the models' memory of all earlier batches. The
 * memory is valid only while nobody else moves the progress. Storing the next batch checks that; if the check fails,
 * the memory is dropped and the batch is decided again.
 */
import type { RecordedOutcome } from '../outcomes/recorded-outcome.ts';
import type { AnyStates } from '../model-set.ts';

export class BatchMemory {
  /** The memory of each model, by the model's name. */
  readonly remembered: AnyStates;
  #before: AnyStates | null;
  #outcomes: ReadonlyMap<string, RecordedOutcome>;

  constructor(before: AnyStates, outcomes: ReadonlyMap<string, RecordedOutcome>, remembered: AnyStates) {
    this.#before = before;
    this.#outcomes = outcomes;
    this.remembered = remembered;
  }

  /** The states of the batch in flight; null once it is visible. */
  get before(): AnyStates | null {
    return this.#before;
  }

  /** Call this when the batch is visible to every later read. */
  forgetBefore(): void {
    this.#before = null;
    this.#outcomes = new Map();
  }

  /** The outcome that the batch in flight gave to a command. */
  outcome(commandId: string): RecordedOutcome | null {
    return this.#outcomes.get(commandId) ?? null;
  }
}
