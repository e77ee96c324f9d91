/** What HTTP reads of outcomes: what has become of one command. */
import type { Database } from '../../../src/database/database.ts';
import type { Outcome } from '../../../src/events/outcome.ts';
import { findProgressAndOutcomes } from './outcomes.store.ts';
import { stillCounts, type KnownOutcome } from './recorded-outcome.ts';

/** A try of a command: the log time when it was sent, and until when it could take effect. */
export interface Try {
  readonly at: number;
  readonly notAfter: number;
}

/** Null: nothing yet. `forgotten`: it had one, which a later try has replaced whose command counted as new. */
export type TryOutcome = Outcome | 'forgotten' | null;

function outcomeOfTry(recorded: KnownOutcome, { at, notAfter }: Try): TryOutcome {
  const { time, replacedTime, outcome } = recorded;
  if (time > notAfter && replacedTime !== null && stillCounts({ time: replacedTime }, at)) return 'forgotten';
  return stillCounts(recorded, at) ? outcome : null;
}

export class OutcomeQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** How far the command's partition is projected, and what a try of the command has come to by then. */
  async find(partition: number, commandId: string, tried: Try): Promise<{ readonly next: bigint; readonly outcome: TryOutcome }> {
    const { next, outcomes } = await findProgressAndOutcomes(this.#database.reader, partition, [commandId]);
    const [recorded] = outcomes;
    return { next, outcome: recorded ? outcomeOfTry(recorded, tried) : null };
  }
}
