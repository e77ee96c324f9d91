/**
 * A model: a part of the read model, with everything that the projector needs to know about it. The projector knows
 * models only by this interface; `projections/models.ts` lists them.
 *
 * For each batch of events the projector opens a state of each model, lets the models load what the events look up,
 * decides the events in log order, and stores the net changes. The first look-ups of all models share one round trip,
 * and so do all changes.
 */
import type { EntitySchema } from '@mikro-orm/core';
import type { BoundStatement } from '../storage/database/combine.ts';
import type { Database } from '../storage/database/database.ts';
import type { Tx } from '../storage/database/pipelined-client.ts';
import type { Event, EventData, EventOf, EventType } from '../language/events/event.ts';
import type { Steps } from '../language/time-slices.ts';
import type { AnyChange, Decide } from './batch/decision.ts';
import type { KeyReservation } from './batch/local-keys.ts';
import type { Sequence } from './batch/sequence.ts';
import type { Section } from './compare/section.ts';
import type { CompareSnapshots } from './compare/comparison.ts';
import type { DigestedUnits } from './compare/digested-units.ts';
import type { UndoJournal } from './batch/undo-journal.ts';

/** The inputs of a model when it loads the state of a batch. */
export interface Loading<States, Remembered, Committed> {
  readonly tx: Tx;
  /** The events to decide next, in log order. */
  readonly events: readonly Event[];
  /** The states of this batch: the loaded objects, as changed by earlier events. */
  readonly states: States;
  /** The states of the previous batch while `tx` may not see them yet; null once it sees them. */
  readonly before: States | null;
  /** The model's memory of earlier batches of the partition; null: none. */
  readonly remembered: Remembered | null;
  /** The committed state that the model caches as long as the projector uses this read model. */
  readonly committed: Committed;
  readonly keys: KeyReservation;
  /** Whether the batch is decided ahead. What is not to be done ahead throws then, and is done where the batch stands. */
  readonly isAhead: boolean;
  /** Adds a write to the storing transaction, before the batch. A speculative batch fails because of it. */
  writeFirst(write: (tx: Tx) => Promise<void>): void;
}

/**
 * Removes some garbage in a small transaction of its own. Resolves to the amount that it found. `later`: pretend that
 * it is this many milliseconds later. `isFilled`: the read model is being filled from the log, and serves nobody.
 */
export type RemoveGarbage = (database: Database, later: number, isFilled?: boolean) => Promise<number>;

/** Kinds of garbage by name. Metrics show the names, so each is unique over all models. */
export type Garbage = Readonly<Record<string, RemoveGarbage>>;

/**
 * @typeParam State the model's part of the state of a batch
 * @typeParam States the states that its decisions read: its own, and those of other models, by their names in the list
 */
export interface Model<State, States, Change extends AnyChange, Remembered = null, Committed = null, Queries = null> {
  /** Its tables, and the SQL that MikroORM's schema generator cannot express. */
  readonly entities: readonly EntitySchema[];
  readonly storage: readonly string[];

  /** Decides its events: one pure function for each type. */
  readonly decisions: { readonly [T in EventType]?: Decide<States, EventOf<T>, Change> };
  /** Types of events that consist of other events. */
  readonly sequences?: { readonly [T in EventType]?: Sequence<EventOf<T>, States, Change> };
  /** Applies changes to its state: its own kinds, and kinds of other models that it follows. */
  readonly changes: {
    readonly [Kind in Change['kind']]?: (states: States, change: Extract<Change, { kind: Kind }>) => void;
  };

  /**
   * Opens an empty state for a batch. `newKey` returns fresh local keys. `journal` undoes changes (undo-journal.ts).
   */
  open(newKey: () => bigint, journal: UndoJournal): State;
  /** Opens the cache of the committed state. */
  openCommitted?(): Committed;
  /** An upper bound of the local keys that the event takes, known before anything is loaded. */
  keysAtMost?(data: EventData): number;
  /**
   * Writes contents of events that readers see only once the events are decided, such as rows; null if the events carry
   * none. The write runs in a transaction of its own before the events are loaded. It skips contents that are already
   * written. It is optional: without it, contents are written with the batch.
   */
  writeAhead?(events: readonly Event[]): ((tx: Tx, keys: KeyReservation) => Promise<void>) | null;
  /**
   * Reads from Postgres what later events will need, and puts it into `remembered`, where `load` finds it. Optional:
   * `load` reads whatever is missing. Other batches are decided and stored during the read. If one of them changes the
   * same object, its value must stay.
   */
  lookAhead?(tx: Tx, remembered: Remembered, events: readonly Event[]): Promise<void>;
  /**
   * Loads everything that the events look up into the state: from memory if possible, otherwise from Postgres in one
   * round trip.
   */
  load?(loading: Loading<States, Remembered, Committed>): Promise<void>;
  /**
   * As `load`, for look-ups that depend on the results of `load` for any model. Models run it one after the other. If
   * it takes long, it lets other work run in between.
   */
  loadMore?(loading: Loading<States, Remembered, Committed>): Promise<void>;
  /**
   * Whether the decision of an event would look up what is not loaded, because earlier events of the batch have changed
   * what it looks up. Asked before each decision; then the event is loaded again.
   */
  lacks?(states: States, event: Event): boolean;
  /**
   * Whether `loadMore` may load much for the event. If so, a batch is cut before the event, so that all earlier events
   * are decided when it is loaded.
   */
  loadsMuch?(data: EventData): boolean;
  /** Whether the results of `load` certainly refuse such an event. If so, `loadMore` loads nothing for it. */
  isRefused?(states: States, data: EventData): boolean;
  /** The net changes of the batch: a statement per kind of object (`storing`). */
  store(state: State): readonly Steps<BoundStatement>[];
  /**
   * The memory for the next batch. `remembered` is the memory of all earlier batches (null: none) and may be changed in
   * place. Null if there is too much to remember: the next batch is then decided only after this one is stored, because
   * otherwise it would not see this one's changes.
   */
  remember?(remembered: Remembered | null, state: State): Remembered | null;

  /**
   * `needs`: names of the objects that an event loads. `makes`: names of the objects that an event changes so that a
   * later event can load them only after this one is decided. A batch is cut before an event that needs what an earlier
   * one makes; the rest is loaded after that decision.
   */
  needs?(data: EventData): readonly string[];
  makes?(data: EventData): readonly string[];
  /** Whether everything before the event must be stored before it is loaded. */
  readsStored?(data: EventData): boolean;
  /** Whether the event may store so much that nothing that follows is decided in its batch. */
  storesMuch?(data: EventData): boolean;
  /** Types of events that are worth loading while they are still on their way into the log. */
  readonly loadsAhead?: readonly EventType[];

  /** The queries of HTTP and the command line. */
  readonly queries?: (database: Database) => Queries;

  /** The parts that replay must reproduce: queries, and comparisons that need more than one query. */
  readonly sections: readonly Section[];
  readonly comparisons?: readonly CompareSnapshots[];
  /** The parts with digests of their own. Everything that comparisons compare must be in them or in sections. */
  readonly units?: readonly DigestedUnits[];
  /** Its kinds of garbage. Their steps run in turn. */
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

/** Checks, by types, that the list contains every model that another one reads. */
export function listModels<const M extends Models>(
  models: M & { [Name in keyof M]: StatesOf<M> extends NeedsOf<M[Name]> ? unknown : never },
): M {
  return models;
}
