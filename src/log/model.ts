/**
 * A model: a part of the read model, with everything that the projector needs to know of it. This interface is all that
 * the projector knows of models; `projections/models.ts` lists them.
 *
 * For each batch of events the projector opens a state of each model, has the models load what the events look up,
 * decides the events in log order, and stores the net changes. The first look-ups of all models share one round trip,
 * and so do all changes.
 */
import type { EntitySchema } from '@mikro-orm/core';
import type { BoundStatement } from '../storage/database/combine.ts';
import type { Database } from '../storage/database/database.ts';
import type { Tx } from '../storage/database/pipelined-client.ts';
import type { Event, EventData, EventOf, EventType } from '../language/events/event.ts';
import type { Outcome } from '../language/events/outcome.ts';
import type { Refusal } from '../language/values/refusal.ts';
import type { Steps } from '../language/time-slices.ts';
import type { AnyChange, Decide, LogPlace } from './batch/decision.ts';
import type { KeyReservation } from './batch/local-keys.ts';
import type { Section } from './compare/section.ts';
import type { Comparison } from './compare/comparison.ts';
import type { DigestedUnits } from './compare/digested-units.ts';
import type { UndoJournal } from './batch/undo-journal.ts';

/** What models load the state of a batch with. */
export interface Loading<States, Remembered, Committed> {
  readonly tx: Tx;
  /** The events to be decided next, in log order. */
  readonly events: readonly Event[];
  /** The states of this batch: what is loaded already, as changed by earlier events. */
  readonly states: States;
  /** The states of the previous batch while it may not be visible to `tx` yet; null once it is. */
  readonly before: States | null;
  /** What the model remembers of earlier batches of the partition; null: nothing. */
  readonly remembered: Remembered | null;
  /** What the model keeps of the committed state, for as long as the projector uses this read model. */
  readonly committed: Committed;
  readonly keys: KeyReservation;
  /** Whether the batch is decided ahead. What is not to be done ahead throws then, and is done where the batch stands. */
  readonly isAhead: boolean;
  /** Adds a write to the storing transaction, ahead of the batch. Makes a speculative batch fail. */
  writeFirst(write: (tx: Tx) => Promise<void>): void;
}

/**
 * Removes some garbage in a small transaction of its own. Resolves to how much it found. `later`: pretend that it is
 * this many milliseconds later. `isFilled`: the read model is being filled from the log, and serves nobody.
 */
export type RemoveGarbage = (database: Database, later: number, isFilled?: boolean) => Promise<number>;

/**
 * How a type of event is decided that consists of others: each part sees the changes of the parts before it. If one is
 * refused, the event is, and none of them changes anything. All parts are loaded before the first is decided, so no
 * part may need what an earlier one makes (`Model.needs`). All parts have the version of the event: at most one of them
 * may add rows to a table, and at most one may change its schema.
 */
export interface Sequence<E extends EventData> {
  /** What the event consists of, in order. All parts stand at the event's place in the log. */
  partsOf(data: E): readonly EventData[];
  /** The outcome once all parts were applied. `outcomes`: theirs, in their order. */
  outcomeOf(outcomes: readonly Outcome[], at: LogPlace): Outcome;
  /** The refusal of the event, by that of one of its parts, counted from 0. */
  refusalOf(refusal: Refusal, part: number): Refusal;
}

/** Kinds of garbage by their names, which metrics show: each name is of one kind in all models. */
export type Garbage = Readonly<Record<string, RemoveGarbage>>;

/**
 * @typeParam State the model's part of the state of a batch
 * @typeParam States the states that its decisions read: its own, and those of other models, by their names in the list
 */
export interface Model<State, States, Change extends AnyChange, Remembered = null, Committed = null, Queries = null> {
  /** Its tables, and the SQL for what MikroORM's schema generator cannot express. */
  readonly entities: readonly EntitySchema[];
  readonly storage: readonly string[];

  /** Decides its events: one pure function for each type. */
  readonly decisions: { readonly [T in EventType]?: Decide<States, EventOf<T>, Change> };
  /** Types of events that consist of others. */
  readonly sequences?: { readonly [T in EventType]?: Sequence<EventOf<T>> };
  /** Applies changes to its state: its own kinds, and those of other models that it follows. */
  readonly changes: {
    readonly [Kind in Change['kind']]?: (states: States, change: Extract<Change, { kind: Kind }>) => void;
  };

  /**
   * Opens an empty state for a batch. `newKey` gives fresh local keys; `journal` takes changes back (undo-journal.ts).
   */
  open(newKey: () => bigint, journal: UndoJournal): State;
  /** Opens what it keeps of the committed state. */
  openCommitted?(): Committed;
  /** An upper bound of the local keys that the event takes, known before anything is loaded. */
  keysAtMost?(data: EventData): number;
  /**
   * The write of what events carry and readers see only once they are decided, such as rows; null if they carry
   * nothing. It runs in a transaction of its own before the events are loaded, passes over what is written already, and
   * need not run at all.
   */
  writeAhead?(events: readonly Event[]): ((tx: Tx, keys: KeyReservation) => Promise<void>) | null;
  /**
   * Reads from Postgres what later events will need, and puts it into `remembered`, where `load` finds it. Optional:
   * `load` reads whatever is missing there. Other batches are decided and stored during the read. If they change the
   * same thing, their value must stay.
   */
  lookAhead?(tx: Tx, remembered: Remembered, events: readonly Event[]): Promise<void>;
  /**
   * Loads into the state everything that the events look up: from memory where possible, else from Postgres in one
   * round trip.
   */
  load?(loading: Loading<States, Remembered, Committed>): Promise<void>;
  /**
   * The same for look-ups that depend on what `load` gave for any model. Models run it one after the other. Where it
   * takes long, it lets other work run in between.
   */
  loadMore?(loading: Loading<States, Remembered, Committed>): Promise<void>;
  /**
   * Whether the decision of an event would look up what is not loaded, because earlier events of the batch have changed
   * what it looks up. Asked before each decision; then the event is loaded again.
   */
  lacks?(states: States, event: Event): boolean;
  /**
   * Whether `loadMore` may load much for the event. A batch is cut before it, so that all earlier events are decided by
   * then.
   */
  loadsMuch?(data: EventData): boolean;
  /** Whether such an event is certainly refused by what `load` gave: then `loadMore` loads nothing for it. */
  isRefused?(states: States, data: EventData): boolean;
  /** The net changes of the batch, a statement for each kind of thing (`storing`). */
  store(state: State): readonly Steps<BoundStatement>[];
  /**
   * What the next batch may remember: `remembered` is of all earlier batches (null: none) and may be changed in place.
   * Null: it is too much, and the next batch must not be decided before this one is stored, because it would not see
   * what this one changes.
   */
  remember?(remembered: Remembered | null, state: State): Remembered | null;

  /**
   * `needs`: names of what an event loads. `makes`: names of what an event changes such that a later event cannot load
   * it before this event is decided. A batch is cut before an event that needs what an earlier one makes; the rest is
   * loaded after that decision.
   */
  needs?(data: EventData): readonly string[];
  makes?(data: EventData): readonly string[];
  /** Whether everything before the event must be stored before it is loaded. */
  readsStored?(data: EventData): boolean;
  /** Whether the event may store so much that nothing that follows is decided in its batch. */
  storesMuch?(data: EventData): boolean;
  /** Types of events for which it pays to load while they are still on their way into the log. */
  readonly loadsAhead?: readonly EventType[];

  /** What HTTP and the command line may ask of it. */
  readonly queries?: (database: Database) => Queries;

  /** What replay must reproduce: queries, and comparisons that take more than a query. */
  readonly sections: readonly Section[];
  readonly comparisons?: readonly Comparison[];
  /** What of it has digests of its own. All that comparisons compare must be in these. */
  readonly units?: readonly DigestedUnits[];
  /** Its kinds of garbage, which take turns. */
  readonly garbage: Garbage;
}

/** Any model. The projector treats the states and memories of models as opaque. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyModel = Model<any, any, any, any, any, any>;

/** Models by their names. */
export type Models = Readonly<Record<string, AnyModel>>;

type StateOf<M> = M extends { open(newKey: () => bigint, journal: UndoJournal): infer State } ? State : never;

/** The states of a list of models. */
export type StatesOf<M extends Models> = { readonly [Name in keyof M]: StateOf<M[Name]> };

type QueriesOfModel<M> = M extends { readonly queries?: (database: Database) => infer Queries } ? Queries : null;

/** The queries of a list of models. */
export type QueriesOf<M extends Models> = { readonly [Name in keyof M]: QueriesOfModel<M[Name]> };

/** Opens the queries of models on their read model. */
export function openQueries<const M extends Models>(models: M, database: Database): QueriesOf<M> {
  return Object.fromEntries(
    Object.entries(models).map(([name, { queries }]) => [name, queries?.(database) ?? null]),
  ) as QueriesOf<M>;
}

type NeedsOf<M> = M extends { decisions: infer Decisions }
  ? // oxlint-disable-next-line typescript/no-explicit-any
    Decisions[keyof Decisions] extends ((states: infer States, ...rest: any[]) => unknown) | undefined
    ? States
    : never
  : never;

/** Checks, by type, that the list contains every model that one of them reads. */
export function listModels<const M extends Models>(
  models: M & { [Name in keyof M]: StatesOf<M> extends NeedsOf<M[Name]> ? unknown : never },
): M {
  return models;
}
