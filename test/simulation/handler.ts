/** What a statement does in the model of Postgres. */
import type { Holder, Locks } from './locks.ts';
import type { Row, View } from './view.ts';

// oxlint-disable-next-line typescript/no-explicit-any
export type Values = readonly any[];

/** The session that runs a statement, with the locks of its server. */
export interface LockingSession extends Holder {
  readonly server: { readonly locks: Locks };
}

export interface Handler {
  /** How many parameters the statement has. */
  readonly parameters: number;
  /** Whether it uses tables of the read model, or only those of the log, or none. */
  readonly usesReadModel: boolean;
  /** What it does to the session, once it has its locks; the rows that it gives, if it is this that gives them. */
  readonly inSession?: (session: LockingSession, values: Values) => readonly Row[] | void;
  /** The locks that it takes first, by name: exclusively, or shared if they begin with that word. */
  locks(values: Values, readModel: string): readonly string[];
  run(view: View, values: Values): readonly Row[];
}

/** The lock on all tables of a read model. Whoever uses one has it, shared. */
export const readModelLock = (readModel: string): string => `read model ${readModel}`;
