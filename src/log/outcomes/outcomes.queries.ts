/** The queries of HTTP about outcomes. */
import type { Database } from '../../storage/database/database.ts';
import type { Outcome } from '../../language/events/outcome.ts';
import type { HeldTeams } from '../quarantine/held-teams.ts';
import { findProgressAndOutcomes } from './outcomes.store.ts';
import { outcomeLife, stillCounts, type KnownOutcome } from './recorded-outcome.ts';

/** One attempt at a command: the log time when it was sent, and the log time until which it could take effect. */
export interface Try {
  readonly at: number;
  readonly notAfter: number;
}

/**
 * Null: there is no outcome yet. `forgotten`: either a later attempt that counted as a new command has replaced the
 * outcome, or an earlier outcome was about to expire, so that it is unknown whether this attempt counted as a
 * repetition.
 */
export type TryOutcome = Outcome | 'forgotten' | null;

/** A try, and its command. */
interface CommandTry extends Try {
  readonly commandId: string;
}

/**
 * The uncertainty of an attempt's log time, in milliseconds. If the clock of a process differs by more, the process
 * takes no writes.
 */
const uncertainty = 60_000;

function outcomeOfTry(recorded: KnownOutcome, { at, notAfter }: Try): TryOutcome {
  const { time, replacedTime, outcome } = recorded;
  const isUncertain = (earlier: number): boolean => Math.abs(earlier + outcomeLife - at) <= uncertainty;
  if (isUncertain(time) || (replacedTime !== null && isUncertain(replacedTime))) return 'forgotten';
  if (time > notAfter && replacedTime !== null && stillCounts({ time: replacedTime }, at)) return 'forgotten';
  return stillCounts(recorded, at) ? outcome : null;
}

export class OutcomeQueries {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * The progress of the command's partition, the teams held there, and the outcome of this attempt as of that progress.
   */
  async find(
    partition: number,
    commandId: string,
    tried: Try,
  ): Promise<{ readonly next: bigint; readonly held: HeldTeams; readonly outcome: TryOutcome }> {
    const { next, held, outcomes } = await this.findAll(partition, [{ commandId, ...tried }]);
    return { next, held, outcome: outcomes[0]! };
  }

  /** As `find`, for several attempts in one snapshot. */
  async findAll(
    partition: number,
    tries: readonly CommandTry[],
  ): Promise<{ readonly next: bigint; readonly held: HeldTeams; readonly outcomes: readonly TryOutcome[] }> {
    const { next, held, outcomes } = await findProgressAndOutcomes(
      this.#database.reader,
      partition,
      tries.map(({ commandId }) => commandId),
    );
    const byCommand = new Map(outcomes.map((recorded) => [recorded.commandId, recorded]));
    return {
      next,
      held,
      outcomes: tries.map((tried) => {
        const recorded = byCommand.get(tried.commandId);
        return recorded === undefined ? null : outcomeOfTry(recorded, tried);
      }),
    };
  }
}
