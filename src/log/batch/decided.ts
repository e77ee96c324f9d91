import type { Outcome } from '../../language/events/outcome.ts';
import type { CommandId } from '../event-log.ts';

/** The results of a batch by command. A command whose event came after its `notAfter` is in neither collection. */
export interface Decided {
  /** The outcome of each command that was decided. */
  readonly outcomes: ReadonlyMap<CommandId, Outcome>;
  /**
   * The commands whose events are held, because their teams are in quarantine. They get their outcomes when the teams
   * are released.
   */
  readonly held: ReadonlySet<CommandId>;
}
