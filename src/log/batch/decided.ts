import type { Outcome } from '../../language/events/outcome.ts';
import type { CommandId } from '../event-log.ts';

/** What became of the commands of a batch. One that came after its `notAfter` is in neither. */
export interface Decided {
  /** The outcome of each command that was decided. */
  readonly outcomes: ReadonlyMap<CommandId, Outcome>;
  /**
   * The commands whose events are held, because their teams are in quarantine: they have their outcomes when those are
   * released.
   */
  readonly held: ReadonlySet<CommandId>;
}
