/**
 * A model: a part of the read model, with all that the engine has to know of it. The engine knows models by this interface
 * only; `projections/models.ts` lists them.
 *
 * For each batch of events the engine opens a state of each model, has the models load what the events look up, decides the
 * events in the order of the log, and stores the net changes. All first look-ups of all models go out together, and so do all
 * changes: one round trip each.
 */
import type { EntitySchema } from '@mikro-orm/core';
import type { BoundStatement } from '../../src/database/combine.ts';
import type { Database } from '../../src/database/database.ts';
import type { Tx } from '../../src/database/pipelined-client.ts';
import type { Event, EventData, EventOf, EventType } from '../../src/events/event.ts';
import type { AnyChange, Decide } from './decision.ts';
import type { KeyReservation } from './local-keys.ts';
import type { Section } from './compare/section.ts';
import type { Comparison } from './compare/comparison.ts';

/** What models load the state of a batch with. */
export interface Loading<States, Remembered, Committed> {
  readonly tx: Tx;
  /** The events that are decided next, in their order. */
  readonly events: readonly Event[];
  /** The states of the batch: what is known already, and what earlier events of the batch have changed. */
  readonly states: States;
  /** The states of the batch before, which may not be visible to `tx` yet; null when it is. */
  readonly before: States | null;
  /** What the model remembers of earlier batches of the partition; null: nothing. */
  readonly remembered: Remembered | null;
  /** What the model keeps of what is committed, for as long as the engine uses this read model. */
  readonly committed: Committed;
  readonly keys: KeyReservation;
  /** Has the transaction that stores the batch write something before: a batch that is decided ahead cannot. */
  writeFirst(write: (tx: Tx) => Promise<void>): void;
}

/**
 * Removes some of what nobody can read any more, in a small transaction of its own. Gives how much it found. `later`: as if it were so
 * many milliseconds later than it is.
 */
export type RemoveGarbage = (database: Database, later: number) => Promise<number>;

/**
 * @typeParam State the model's part of the state of a batch
 * @typeParam States the states that its decisions read: its own, and those of other models, by their names in the list
 */
export interface Model<State, States, Change extends AnyChange, Remembered = null, Committed = null, Queries = null> {
  /** Its tables, and statements that make what MikroORM's schema generator has no words for. */
  readonly entities: readonly EntitySchema[];
  readonly storage: readonly string[];

  /** Decides its events: one pure function for each type. */
  readonly decisions: { readonly [T in EventType]?: Decide<States, EventOf<T>, Change> };
  /** Takes a change into its state: of its own kinds, and of those of other models that it follows. */
  readonly changes: { readonly [Kind in Change['kind']]?: (states: States, change: Extract<Change, { kind: Kind }>) => void };

  /** Opens the state of a batch, in which nothing is known. `newKey` gives fresh local keys. */
  open(newKey: () => bigint): State;
  /** Opens what it keeps of what is committed. */
  openCommitted?(): Committed;
  /** How many local keys the event may take, as far as that is known before anything is loaded. */
  keysAtMost?(data: EventData): number;
  /** Fills the state with everything that the events look up: from memory where possible, else from Postgres in one round trip. */
  load?(loading: Loading<States, Remembered, Committed>): Promise<void>;
  /** The same for what can only be looked up once all models have loaded the rest. Models do it one after the other. */
  loadMore?(loading: Loading<States, Remembered, Committed>): Promise<void>;
  /** The net changes of the batch, a statement for each kind of thing. */
  store(state: State): readonly BoundStatement[];
  /** What the next batch may remember: of all batches so far (null: none; handed on, so it may be changed), and of this one. */
  remember?(remembered: Remembered | null, state: State): Remembered;

  /**
   * Names of what is loaded for an event, and of what an event changes so that it cannot be loaded for a later event before this
   * one is decided. A batch is cut before an event that needs what an earlier one makes, and the rest loaded once that is decided.
   */
  needs?(data: EventData): readonly string[];
  makes?(data: EventData): readonly string[];
  /** Types of events for which everything before them must be stored before they are loaded. */
  readonly readsStored?: readonly EventType[];
  /** Types of events for which it pays to load while they are still on their way into the log. */
  readonly loadsAhead?: readonly EventType[];

  /** What HTTP and the command line may ask of it. */
  readonly queries?: (database: Database) => Queries;

  /** What replay must give again: queries, and comparisons that take more than a query. */
  readonly sections: readonly Section[];
  readonly comparisons?: readonly Comparison[];
  /** What garbage collection does, in the order of urgency; `rareGarbage`: what costs a look at a whole table. */
  readonly garbage: readonly RemoveGarbage[];
  readonly rareGarbage?: readonly RemoveGarbage[];
}

/** Any model. The engine never looks into what it carries from one hook of a model to another. */
// oxlint-disable-next-line typescript/no-explicit-any
export type AnyModel = Model<any, any, any, any, any, any>;

/** Models by their names. */
export type Models = Readonly<Record<string, AnyModel>>;

type StateOf<M> = M extends { open(newKey: () => bigint): infer State } ? State : never;

/** The states of a list of models. */
export type StatesOf<M extends Models> = { readonly [Name in keyof M]: StateOf<M[Name]> };

type QueriesOfModel<M> = M extends { readonly queries?: (database: Database) => infer Queries } ? Queries : null;

/** The queries of a list of models. */
export type QueriesOf<M extends Models> = { readonly [Name in keyof M]: QueriesOfModel<M[Name]> };

/** Opens the queries of models on their read model. */
export function openQueries<const M extends Models>(models: M, database: Database): QueriesOf<M> {
  return Object.fromEntries(Object.entries(models).map(([name, { queries }]) => [name, queries?.(database) ?? null])) as QueriesOf<M>;
}

type NeedsOf<M> = M extends { decisions: infer Decisions }
  // oxlint-disable-next-line typescript/no-explicit-any
  ? Decisions[keyof Decisions] extends ((states: infer States, ...rest: any[]) => unknown) | undefined ? States : never
  : never;

/** A list of models, each of which finds the models that it reads in it. */
export function listModels<const M extends Models>(models: M & { [Name in keyof M]: StatesOf<M> extends NeedsOf<M[Name]> ? unknown : never }): M {
  return models;
}
