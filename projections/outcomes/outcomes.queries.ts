/** What HTTP reads of outcomes: what has become of one command. */
import type { Database } from '../../src/database/database.ts';
import type { Outcome } from '../../src/events/outcome.ts';
import { findProgressAndOutcomes, stillCounts } from './outcomes.store.ts';

export class OutcomeQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * How far the command's partition is projected, and what the command has come to by then; null: nothing. `triedAt`: the
   * log time of the try that is asked about.
   */
  async find(
    partition: number,
    commandId: string,
    triedAt: number,
  ): Promise<{ readonly next: bigint; readonly outcome: Outcome | null }> {
    const { next, outcomes } = await findProgressAndOutcomes(this.#database.reader, partition, [commandId]);
    const [recorded] = outcomes;
    return { next, outcome: recorded && stillCounts(recorded, triedAt) ? recorded.outcome : null };
  }
}
