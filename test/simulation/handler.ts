/** The effect of a statement in the model of Postgres. */
import type { Holder, Locks } from './locks.ts';
import { postgresError, type TableRow, type View } from './view.ts';

// oxlint-disable-next-line typescript/no-explicit-any
export type Values = readonly any[];

/** The session that runs a statement, with the locks of its server. */
interface LockingSession extends Holder {
  readonly server: { readonly locks: Locks };
}

/** `texts`: the text of the statement, and the content of each `{}`. Returns the rows of the answer. */
export type Effect = (view: View, values: Values, texts: readonly string[]) => readonly TableRow[];

export interface Handler {
  /** Whether it uses tables of the read model of its session. */
  readonly usesReadModel: boolean;
  /** The locks that it takes first, by name: exclusive ones, or shared ones if the name begins with that word. */
  readonly locks?: (values: Values, texts: readonly string[], readModel: string) => readonly string[];
  /** Its effect on the session once it has its locks. Returns the rows of the answer, if this effect produces them. */
  readonly inSession?: (session: LockingSession, values: Values) => readonly TableRow[] | void;
  readonly run: Effect;
}

/**
 * Statements by their names in the service, or by the beginning of their texts. In such a text `{}` stands for a name
 * or a value, and `...` for anything.
 */
export type Handlers = Readonly<Record<string, Handler>>;

/** A statement on the read model of its session that takes no other locks. */
export const onReadModel = (run: Effect): Handler => ({ usesReadModel: true, run });

/** A statement that names the schemas of its tables, as statements on the log do, and takes no locks. */
export const onNamed = (run: Effect): Handler => ({ usesReadModel: false, run });

/** A statement without an effect here. */
export const nothing = onNamed(() => []);

/** The lock on all tables of a read model. Each user of the read model holds it, shared. */
export const readModelLock = (readModel: string): string => `read model ${readModel}`;

/** The rows of the progress or of the heads, in the order of partitions. */
export function inOrder(view: View, table: 'progress' | 'heads'): TableRow[] {
  return view.all(table).toSorted((a, b) => Number(a['partition']) - Number(b['partition']));
}

/** Throws as a trigger on the table does, unless there is no trigger, or the setting lets the transaction pass. */
export function refuseIfClosed(view: View, table: string, setting: string): void {
  if (view.get(`triggers of ${table}`, '') !== null && view.settings.get(setting) !== 'on')
    throw postgresError('TL001');
}
