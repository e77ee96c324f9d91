/** A list of models, indexed by the events that they decide and by the changes that they apply. */
import type { Event, EventData, EventType } from '../../src/events/event.ts';
import { apply, type AnyChange, type Decide, type Decision, type LogPlace } from './decision.ts';
import type { AnyModel, Models } from './model.ts';

/** The states of a batch, by the names of their models. */
export type States = Readonly<Record<string, unknown>>;

type AnyDecide = Decide<States, EventData, AnyChange>;
type TakeChange = (states: States, change: AnyChange) => void;

export class ModelSet {
  readonly list: readonly (readonly [name: string, model: AnyModel])[];
  readonly #decisions = new Map<string, AnyDecide>();
  readonly #changes = new Map<string, TakeChange[]>();
  /** What models define of these, which every event goes through. */
  readonly #asked: { readonly [Hook in 'keysAtMost' | 'needs' | 'makes' | 'loadsMuch' | 'isRefused']: readonly NonNullable<AnyModel[Hook]>[] };
  readonly #readsStored: ReadonlySet<EventType>;
  readonly #loadsAhead: ReadonlySet<EventType>;

  constructor(models: Models) {
    this.list = Object.entries(models);
    const all = this.list.map(([, model]) => model);
    for (const model of all) {
      for (const [type, decide] of Object.entries(model.decisions as Record<string, AnyDecide>)) {
        if (this.#decisions.has(type)) throw new Error(`two models decide ${type}`);
        this.#decisions.set(type, decide);
      }
      for (const [kind, take] of Object.entries(model.changes as Record<string, TakeChange>)) {
        this.#changes.set(kind, [...(this.#changes.get(kind) ?? []), take]);
      }
    }
    this.#asked = {
      keysAtMost: all.flatMap(({ keysAtMost = [] }) => keysAtMost),
      needs: all.flatMap(({ needs = [] }) => needs),
      makes: all.flatMap(({ makes = [] }) => makes),
      loadsMuch: all.flatMap(({ loadsMuch = [] }) => loadsMuch),
      isRefused: all.flatMap(({ isRefused = [] }) => isRefused),
    };
    this.#readsStored = new Set(all.flatMap(({ readsStored = [] }) => readsStored));
    this.#loadsAhead = new Set(all.flatMap(({ loadsAhead = [] }) => loadsAhead));
  }

  /** Opens the states of a batch. */
  open(newKey: () => bigint): States {
    return Object.fromEntries(this.list.map(([name, model]) => [name, model.open(newKey)]));
  }

  /** Opens what the models keep of the committed state. */
  openCommitted(): States {
    return Object.fromEntries(this.list.map(([name, model]) => [name, model.openCommitted?.() ?? null]));
  }

  /** Decides one event. Throws only on bugs, and on a type that no model knows, such as one of a newer version. */
  decide(states: States, event: Event, at: LogPlace): Decision {
    const { type } = event.data;
    // The engine itself reads these events, when it advances the progress.
    if (type === 'GenerationStarted' || type === 'LogResumed') return apply([]);
    const decide = this.#decisions.get(type);
    if (!decide) throw new Error(`an event of the unknown type ${type}`);
    return decide(states, event, at);
  }

  /** Whether a model decides events of this type. */
  decides({ type }: EventData): boolean {
    return this.#decisions.has(type);
  }

  /** Applies a change of a decision to the states, where later events and `store` find it. */
  apply(states: States, change: AnyChange): void {
    const followers = this.#changes.get(change.kind);
    if (!followers) throw new Error(`a change of the unknown kind ${change.kind}`);
    for (const take of followers) take(states, change);
  }

  keysAtMost(data: EventData): number {
    return this.#asked.keysAtMost.reduce((sum, keysAtMost) => sum + keysAtMost(data), 0);
  }

  needs(data: EventData): string[] {
    return this.#asked.needs.flatMap((needs) => needs(data));
  }

  makes(data: EventData): string[] {
    return this.#asked.makes.flatMap((makes) => makes(data));
  }

  loadsMuch(data: EventData): boolean {
    return this.#asked.loadsMuch.some((loadsMuch) => loadsMuch(data));
  }

  isRefused(states: States, data: EventData): boolean {
    return this.#asked.isRefused.some((isRefused) => isRefused(states, data));
  }

  /** Whether everything before such an event must be stored before the event is loaded. */
  readsStored({ type }: EventData): boolean {
    return this.#readsStored.has(type);
  }

  /** Whether it pays to load for such an event while it is still on its way into the log. */
  loadsAhead({ type }: EventData): boolean {
    return this.#loadsAhead.has(type);
  }
}
